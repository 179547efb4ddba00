package compensate

import (
	"fmt"
	"time"

	"herald/platforms"
	"herald/state"
)

// Reports returns the newest limit articles as people see them. With attention
// only the unfinished ones that need a person, all of them, oldest id first.
func (dr *Driver) Reports(limit int, attention bool, now time.Time) ([]state.Report, error) {
	return Reports(dr.store, dr.Outlook, limit, attention, dr.local(now))
}

// Reports is what Driver.Reports does, on a store that nobody drives.
func Reports(store state.Store, outlook func(state.Reader, string, time.Time) state.Outlook, limit int, attention bool, now time.Time) ([]state.Report, error) {
	reports := []state.Report{}
	err := store.View(func(r state.Reader) error {
		seen := map[string]state.Outlook{}
		look := func(target string) state.Outlook {
			o, ok := seen[target]
			if !ok {
				o = outlook(r, target, now)
				seen[target] = o
			}
			return o
		}
		add := func(id state.ArticleID) error {
			a, err := r.Article(id)
			if err != nil {
				return err
			}
			ds, err := r.Deliveries(id)
			if err != nil {
				return err
			}
			rep := state.Summarize(a, ds, look, now)
			for i := range rep.Deliveries {
				rep.Deliveries[i].History = nil
			}
			if !attention || rep.NeedsPerson() {
				reports = append(reports, rep)
			}
			return nil
		}
		if attention {
			return r.Unfinished(add)
		}
		ids, err := r.Newest(limit)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := add(id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	return reports, nil
}

// Report returns one article with the history of its deliveries.
func Report(store state.Store, outlook func(state.Reader, string, time.Time) state.Outlook, id state.ArticleID, now time.Time) (rep state.Report, err error) {
	err = store.View(func(r state.Reader) error {
		a, err := r.Article(id)
		if err != nil {
			return fmt.Errorf("article %s: %w", id, err)
		}
		ds, err := r.Deliveries(id)
		if err != nil {
			return err
		}
		rep = state.Summarize(a, ds, func(target string) state.Outlook { return outlook(r, target, now) }, now)
		return nil
	})
	return rep, err
}

// Report returns one article with the history of its deliveries.
func (dr *Driver) Report(id state.ArticleID, now time.Time) (state.Report, error) {
	return Report(dr.store, dr.Outlook, id, dr.local(now))
}

// Outlook says what is known of a target at this moment.
func (dr *Driver) Outlook(r state.Reader, target string, now time.Time) state.Outlook {
	t := dr.targets[target]
	if t == nil {
		return state.Outlook{}
	}
	var o state.Outlook
	o.Hold, _ = r.Hold(t.Account) // an unreadable hold shows as none; the lane logs it
	_, _, o.OpenUntil = t.Breaker()
	if at := t.Ready(now, true); at.After(now) {
		o.ReadyAt = at
	}
	_, o.CanWithdraw = t.Platform.(platforms.Withdrawer)
	return o
}

// TargetReport is one target as `herald targets` shows it.
type TargetReport struct {
	Name        string      `json:"name"`
	Type        string      `json:"type"`
	Enabled     bool        `json:"enabled"`
	Breaker     string      `json:"breaker"` // closed, open, half-open
	OpenSince   *time.Time  `json:"open_since,omitempty"`
	OpenUntil   *time.Time  `json:"open_until,omitempty"`
	Hold        *state.Hold `json:"hold,omitempty"`
	Waiting     int         `json:"waiting"` // deliveries that wait for a call
	LastSuccess *time.Time  `json:"last_success"`
}

// Targets returns every configured target, in the order of the configuration.
func (dr *Driver) Targets(now time.Time) ([]TargetReport, error) {
	reports := make([]TargetReport, 0, len(dr.order))
	err := dr.store.View(func(r state.Reader) error {
		for _, name := range dr.order {
			t := dr.targets[name]
			rep := TargetReport{Name: name, Type: t.Type, Enabled: t.Settings().Enabled}
			var since, until time.Time
			rep.Breaker, since, until = t.Breaker()
			if !since.IsZero() {
				rep.OpenSince, rep.OpenUntil = &since, &until
			}
			h, err := r.Hold(t.Account)
			if err != nil {
				return err
			}
			if h.Active(now) {
				rep.Hold = &h
			}
			if rep.Waiting, err = r.Waiting(name); err != nil {
				return err
			}
			last, err := dr.lastSuccess(r, name)
			if err != nil {
				return err
			}
			if !last.IsZero() {
				rep.LastSuccess = &last
			}
			reports = append(reports, rep)
		}
		return nil
	})
	return reports, err
}

// lastSuccessDepth is how many of the newest articles are looked through for the
// last success before the start of this process.
const lastSuccessDepth = 200

func (dr *Driver) lastSuccess(r state.Reader, target string) (time.Time, error) {
	last := dr.targets[target].LastSuccess()
	if !last.IsZero() {
		return last, nil
	}
	ids, err := r.Newest(lastSuccessDepth)
	if err != nil {
		return last, err
	}
	for _, id := range ids {
		d, err := r.Delivery(state.Key{Article: id, Target: target})
		if err == nil && d.PublishedAt.After(last) {
			last = d.PublishedAt
		}
	}
	return last, nil
}
