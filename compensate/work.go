package compensate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"herald/platforms"
	"herald/state"
)

// Work is what a target has to do.
type Work struct {
	Keys []state.Key
	// Next is when to look again; zero when only a wake brings something.
	Next time.Time
	// Probe says that the target is held for a person and due to be probed.
	Probe bool
}

// Work returns at most limit deliveries of target whose step is due and may be
// made now, those that only ask first. It costs what it returns.
func (dr *Driver) Work(target string, now time.Time, limit int) (Work, error) {
	t := dr.targets[target]
	var w Work
	err := dr.store.View(func(r state.Reader) error {
		hold, err := r.Hold(t.Account)
		if err != nil {
			return err
		}
		if hold.Active(now) && hold.ForPerson {
			limit = min(limit, 1) // one delivery is the probe
		}
		for _, class := range []state.Class{state.Asking, state.Changing} {
			if !mayCall(hold, t, class, now) {
				w.Probe = hold.ForPerson && !now.Before(hold.Until)
				w.Next = earlier(w.Next, hold.Until)
				continue
			}
			if ready := t.Ready(now, class == state.Changing); ready.After(now) {
				// What is due waits for its turn; what is not is looked at then.
				w.Next = earlier(w.Next, ready)
				continue
			}
			keys, next, err := r.Due(target, class, now, limit-len(w.Keys))
			if err != nil {
				return err
			}
			w.Keys = append(w.Keys, keys...)
			w.Next = earlier(w.Next, next)
		}
		return nil
	})
	if err != nil {
		return w, fmt.Errorf("find work of %s: %w", target, err)
	}
	return w, nil
}

// earlier returns the earlier of two times; zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// Probe asks a target that is held for a person whether it is usable again, and
// lifts the hold or sets the time of the next probe.
func (dr *Driver) Probe(ctx context.Context, target string) error {
	t := dr.targets[target]
	prober, ok := t.Platform.(platforms.Prober)
	if !ok {
		return nil
	}
	permit, _ := t.Permit(time.Now(), false)
	if permit == nil {
		return nil // paced: the lane comes again
	}
	out := permit.Call(ctx, "probe", prober.Probe)
	now := time.Now()
	err := dr.store.Update(func(tx state.Tx) error {
		h, err := tx.Hold(t.Account)
		if err != nil || !h.Active(now) || !h.ForPerson {
			return err
		}
		c := Context{Settings: t.Settings(), Hold: h, Now: now}
		switch {
		case out.Err == nil:
			h = h.Clear(now)
			if err := dr.tellHold(tx, t, c.Hold, h, now); err != nil {
				return err
			}
		case out.Err.Kind == platforms.Unauthorized:
			h = *holdFor(out.Err, c)
		default: // nothing learned: ask again, no slower
			h.Until = now.Add(c.Settings.Probe.Every)
		}
		return tx.PutHold(h)
	})
	if err != nil {
		return fmt.Errorf("probe %s: %w", target, err)
	}
	if out.Err == nil {
		dr.log.Info("target is usable again", "target", target)
		dr.wakeAccount(t.Account)
	}
	return nil
}

// wakeAccount wakes every target of an account.
func (dr *Driver) wakeAccount(account string) {
	for name, t := range dr.targets {
		if t.Account == account {
			dr.wake(name)
		}
	}
}

// Recover turns every call that was under way when herald ended into an open
// question, to be looked up before anything else. It is run once, before the
// first step. It costs what is unfinished.
func (dr *Driver) Recover(now time.Time) (int, error) {
	var lostKeys []state.Key
	err := dr.store.View(func(r state.Reader) error {
		return r.Unfinished(func(id state.ArticleID) error {
			ds, err := r.Deliveries(id)
			for _, d := range ds {
				if d.State == state.Sending {
					lostKeys = append(lostKeys, d.Key())
				}
			}
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("recover: %w", err)
	}
	for _, k := range lostKeys {
		w, err := dr.load(k)
		if err != nil {
			if errors.Is(err, state.ErrNotFound) || dr.targets[k.Target] == nil {
				continue
			}
			return 0, err
		}
		if _, err := dr.apply(w, lost(w.Delivery, dr.context(w, now), state.DoubtCrash, "herald ended during the call")); err != nil {
			return 0, err
		}
	}
	return len(lostKeys), nil
}

// Finished reports whether nothing is left to do for an article: its source is
// not needed any more. An article that is not known is not finished.
func (dr *Driver) Finished(id state.ArticleID) (bool, error) {
	var ds []state.Delivery
	err := dr.store.View(func(r state.Reader) (err error) {
		ds, err = r.Deliveries(id)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("find deliveries of %s: %w", id, err)
	}
	return len(ds) > 0 && !slices.ContainsFunc(ds, func(d state.Delivery) bool { return !d.Closed() }), nil
}
