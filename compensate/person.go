package compensate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"herald/platforms"
	"herald/publisher"
	"herald/state"
)

// Change is what a person's command did to one delivery, or why it did nothing.
type Change struct {
	Article state.ArticleID `json:"article"`
	Target  string          `json:"target"`
	From    state.State     `json:"from"`
	To      state.State     `json:"to"`
	Note    string          `json:"note,omitempty"`
}

// ErrNothing says that the command is understood, but applies to nothing.
var ErrNothing = errors.New("nothing to do")

// answer is what a command does with one delivery: an event, or only a wish, or
// nothing with the reason.
type answer struct {
	event *state.Event
	wish  state.Wish
	note  string
	// fine says that nothing has to be done to have what was asked for.
	fine bool
}

// Retry runs what failed, was rejected or is stuck again, from its first
// attempt, and lifts a hold that waits for a person. It touches nothing that is
// published. An empty target means all of the article's.
func (dr *Driver) Retry(id state.ArticleID, target string, now time.Time) ([]Change, error) {
	first := func(tx state.Tx, a *state.Article) error {
		err := dr.liftHolds(tx, func(t *publisher.Target, h state.Hold) bool {
			return h.ForPerson && (target == "" || t.Name == target)
		}, now)
		return errors.Join(err, dr.forward(tx, a, Context{Now: now}))
	}
	return dr.eachAfter(first, id, target, now, retried)
}

// RetryTarget does what Retry does for every article of a target, oldest first,
// and lifts whatever holds the target.
func (dr *Driver) RetryTarget(target string, now time.Time) ([]Change, error) {
	t := dr.targets[target]
	if t == nil {
		return nil, fmt.Errorf("target %q: %w; configured are %v", target, state.ErrNotFound, dr.order)
	}
	err := dr.store.Update(func(tx state.Tx) error {
		return dr.liftHolds(tx, func(u *publisher.Target, _ state.Hold) bool { return u.Account == t.Account }, now)
	})
	if err != nil {
		return nil, err
	}
	articles, err := dr.unfinished(target)
	if err != nil {
		return nil, err
	}
	var all []Change
	for i, a := range articles {
		changes, err := dr.each(a.ID, target, now, func(d state.Delivery, c Context, t *publisher.Target) answer {
			ans := retried(d, c, t)
			if ans.event != nil { // due a microsecond apart, so that the index keeps them oldest first
				ans.event.Due = ans.event.Due.Add(time.Duration(i) * time.Microsecond)
			}
			return ans
		})
		if err != nil && !errors.Is(err, ErrNothing) {
			return all, err
		}
		all = append(all, changes...)
	}
	dr.wake(target)
	return all, nil
}

func retried(d state.Delivery, c Context, t *publisher.Target) answer {
	_, canUpdate := t.Platform.(platforms.Updater)
	e := &state.Event{Verb: state.Retry, At: c.Now, Due: c.Now, Held: c.Hold.Held(c.Now), Note: "retried by a person"}
	switch d.State {
	case state.Rejected, state.Failed, state.Stuck:
		return answer{event: e}
	case state.Queued, state.Updating, state.Withdrawing:
		if d.Waits != "" {
			return answer{note: "it has not begun: it waits for " + string(d.Waits)}
		}
		if d.Due.IsZero() {
			return answer{note: "the article is held; `herald approve` releases it"}
		}
		if !d.Due.After(c.Now) {
			return answer{note: "it goes on now", fine: true} // and keeps its place in the row
		}
		e.Verb, e.Free = state.Delay, true
		return answer{event: e}
	case state.Published:
		if d.Outdated() && d.Error != nil && canUpdate {
			e.Verb = state.Revise
			return answer{event: e}
		}
		return answer{}
	case state.Uncertain:
		if d.Due.IsZero() {
			return answer{note: "its outcome is not known: look for the post, then `herald resolve`"}
		}
		e.Verb, e.Free = state.Delay, true // look it up now
		return answer{event: e}
	}
	return answer{}
}

// Resolve settles a delivery whose outcome a person has looked up: published at
// url, or, with an empty one, missing.
func (dr *Driver) Resolve(id state.ArticleID, target, url string, now time.Time) ([]Change, error) {
	if target == "" {
		return nil, errors.New("resolve needs a target")
	}
	return dr.each(id, target, now, func(d state.Delivery, c Context, _ *publisher.Target) answer {
		e := &state.Event{At: c.Now, Note: "resolved by a person"}
		switch {
		case d.State == state.Uncertain && url == "":
			e.Verb, e.Due = state.Miss, c.Now
		case d.State == state.Stuck && url == "":
			e.Verb = state.Gone
		case d.State == state.Uncertain || d.State == state.Stuck:
			e.Verb, e.Receipt = state.Land, platforms.Receipt{ID: cmp.Or(d.Receipt.ID, url), URL: url}
		default:
			return answer{note: fmt.Sprintf("it is %s, and only an uncertain or stuck delivery can be resolved", d.State)}
		}
		return answer{event: e}
	})
}

// Cancel gives deliveries up that are not published. Where a call is under way
// or its outcome is open, it is a wish: withdrawn if the post turns out to be
// there, canceled if not.
func (dr *Driver) Cancel(id state.ArticleID, target string, now time.Time) ([]Change, error) {
	return dr.each(id, target, now, func(d state.Delivery, c Context, _ *publisher.Target) answer {
		switch d.State {
		case state.Queued, state.Rejected, state.Failed:
			return answer{event: &state.Event{Verb: state.Cancel, At: c.Now, Note: "canceled by a person"}}
		case state.Sending, state.Uncertain, state.Reviewing, state.Updating:
			return answer{wish: state.WishCancel}
		case state.Published:
			if d.Error != nil {
				return answer{event: &state.Event{Verb: state.Observe, At: c.Now, Dismiss: true, Note: "accepted by a person as it is"}}
			}
			return answer{note: "already published; `herald withdraw` takes it back"}
		}
		if d.Wish == state.WishRepublish {
			return answer{wish: state.WishWithdraw}
		}
		return answer{note: fmt.Sprintf("it is %s", d.State)}
	})
}

// Withdraw takes published posts back and cancels what is not published yet.
func (dr *Driver) Withdraw(id state.ArticleID, target string, now time.Time) ([]Change, error) {
	return dr.each(id, target, now, func(d state.Delivery, c Context, t *publisher.Target) answer {
		_, can := t.Platform.(platforms.Withdrawer)
		switch d.State {
		case state.Queued, state.Rejected, state.Failed:
			return answer{event: &state.Event{Verb: state.Cancel, At: c.Now, Note: "withdrawn by a person before it was published"}}
		case state.Published:
			if !can {
				return answer{note: "this platform cannot take a post back; remove it by hand"}
			}
			return answer{event: &state.Event{Verb: state.Withdraw, At: c.Now, Due: c.Now, Held: c.Hold.Held(c.Now), Note: "withdrawn by a person"}}
		case state.Sending, state.Uncertain, state.Reviewing, state.Updating:
			return answer{wish: state.WishWithdraw}
		}
		if d.Wish == state.WishRepublish {
			return answer{wish: state.WishWithdraw}
		}
		return answer{note: fmt.Sprintf("it is %s", d.State)}
	})
}

// Republish makes a new post of articles that are published, withdrawn or
// canceled: the one deliberate way to a second copy.
func (dr *Driver) Republish(id state.ArticleID, target string, now time.Time) ([]Change, error) {
	return dr.each(id, target, now, func(d state.Delivery, c Context, _ *publisher.Target) answer {
		switch d.State {
		case state.Published, state.Withdrawn, state.Canceled:
			return answer{event: &state.Event{Verb: state.Republish, At: c.Now, Due: c.Now, Held: c.Hold.Held(c.Now), Note: "republished by a person"}}
		}
		return answer{note: fmt.Sprintf("it is %s", d.State)}
	})
}

// Approve releases an article that is held, or, with a target, only its delivery
// there: the article stays held for the others.
func (dr *Driver) Approve(id state.ArticleID, target string, now time.Time) ([]Change, error) {
	var changes []Change
	err := dr.store.Update(func(tx state.Tx) error {
		changes = nil
		a, err := tx.Article(id)
		if err != nil {
			return err
		}
		if a.Hold == nil {
			return fmt.Errorf("%w: it is not held", ErrNothing)
		}
		ds, err := tx.Deliveries(id)
		if err != nil {
			return err
		}
		waiting := 0
		for _, d := range ds {
			if d.State != state.Queued || !d.Due.IsZero() || d.Waits != "" {
				continue
			}
			if target != "" && d.Target != target {
				waiting++
				continue
			}
			e := state.Event{Verb: state.Delay, At: now, Due: later(now, a.PublishAt), Free: true, Note: "approved by a person"}
			if d, err = d.Apply(e); err != nil {
				return err
			}
			changes = append(changes, Change{Article: id, Target: d.Target, From: state.Queued, To: d.State, Note: "released"})
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
		}
		if waiting > 0 && len(changes) == 0 {
			return fmt.Errorf("delivery on target %q: %w; it has %v", target, state.ErrNotFound, a.Targets)
		}
		if waiting == 0 {
			a.Approved, a.Hold = append(a.Approved, a.Hold.Reason), nil
		}
		if err := dr.releaseLast(tx, &a, now); err != nil {
			return err
		}
		return tx.PutArticle(a)
	})
	if err != nil {
		return nil, fmt.Errorf("approve %s: %w", id, err)
	}
	for _, c := range changes {
		dr.wake(c.Target)
	}
	return changes, nil
}

// each lets decide speak for every delivery of an article, or for that on one
// target, and applies what it says in one transaction.
func (dr *Driver) each(id state.ArticleID, target string, now time.Time, decide func(state.Delivery, Context, *publisher.Target) answer) ([]Change, error) {
	return dr.eachAfter(func(state.Tx, *state.Article) error { return nil }, id, target, now, decide)
}

// eachAfter does what each does, after first in the same transaction.
func (dr *Driver) eachAfter(first func(state.Tx, *state.Article) error, id state.ArticleID, target string, now time.Time, decide func(state.Delivery, Context, *publisher.Target) answer) ([]Change, error) {
	var changes []Change
	acted := false
	err := dr.store.Update(func(tx state.Tx) error {
		changes, acted = nil, false
		a, err := tx.Article(id)
		if err != nil {
			return fmt.Errorf("article %s: %w", id, err)
		}
		if err := first(tx, &a); err != nil {
			return err
		}
		for _, name := range a.Targets {
			if target != "" && target != name {
				continue
			}
			d, err := tx.Delivery(state.Key{Article: id, Target: name})
			if err != nil {
				return err
			}
			change, did, err := dr.person(tx, d, now, decide)
			if err != nil {
				return err
			}
			acted = acted || did
			changes = append(changes, change)
		}
		if len(changes) == 0 {
			return fmt.Errorf("article %s on target %q: %w; it has %v", id, target, state.ErrNotFound, a.Targets)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !acted {
		return changes, ErrNothing
	}
	for _, c := range changes {
		dr.wake(c.Target)
	}
	return changes, nil
}

// person applies one answer to one delivery.
func (dr *Driver) person(tx state.Tx, d state.Delivery, now time.Time, decide func(state.Delivery, Context, *publisher.Target) answer) (c Change, acted bool, err error) {
	c = Change{Article: d.Article, Target: d.Target, From: d.State, To: d.State}
	t := dr.targets[d.Target]
	if t == nil {
		c.Note = "this target is no longer configured"
		return c, false, nil
	}
	hold, err := tx.Hold(t.Account)
	if err != nil {
		return c, false, err
	}
	_, finds := t.Platform.(platforms.Finder)
	ctx := Context{Settings: t.Settings(), Hold: hold, CanFind: finds, Now: now}
	ans := decide(d, ctx, t)
	switch {
	case ans.event != nil:
		if d, err = d.Apply(*ans.event); err != nil {
			return c, false, err
		}
		_, canUpdate := t.Platform.(platforms.Updater)
		_, canWithdraw := t.Platform.(platforms.Withdrawer)
		for e, again := Follow(d, canUpdate, canWithdraw, ctx); again; e, again = Follow(d, canUpdate, canWithdraw, ctx) {
			if d, err = d.Apply(e); err != nil {
				return c, false, err
			}
		}
	case ans.wish != "":
		d.Wish = ans.wish
		ans.note = fmt.Sprintf("its outcome is open: it will %s once it is known", ans.wish)
	default:
		c.Note = ans.note
		return c, ans.fine, nil
	}
	c.To, c.Note = d.State, ans.note
	if err := tx.PutDelivery(d); err != nil {
		return c, true, err
	}
	return c, true, dr.together(tx, d, Context{Now: now})
}

// liftHolds clears the holds of the targets that which chooses.
func (dr *Driver) liftHolds(tx state.Tx, which func(*publisher.Target, state.Hold) bool, now time.Time) error {
	for _, t := range dr.targets {
		h, err := tx.Hold(t.Account)
		if err != nil {
			return err
		}
		if h.Kind == "" || !which(t, h) {
			continue
		}
		if err := errors.Join(dr.tellHold(tx, t, h, h.Clear(now), now), tx.PutHold(h.Clear(now))); err != nil {
			return err
		}
	}
	return nil
}

// unfinished returns the articles with an unfinished delivery on target, oldest
// first.
func (dr *Driver) unfinished(target string) ([]state.Article, error) {
	var articles []state.Article
	err := dr.store.View(func(r state.Reader) error {
		return r.Unfinished(func(id state.ArticleID) error {
			a, err := r.Article(id)
			if err == nil && slices.Contains(a.Targets, target) {
				articles = append(articles, a)
			}
			return err
		})
	})
	slices.SortFunc(articles, func(x, y state.Article) int { return x.AcceptedAt.Compare(y.AcceptedAt) })
	return articles, err
}
