package compensate

import (
	"fmt"
	"slices"
	"time"

	"herald/article"
	"herald/platforms"
	"herald/state"
)

// An all-or-nothing article goes forward until every target has it. Once one
// never will, it goes backward: what was published is taken back where the
// platform can, what was not begun is canceled, what is under way is taken back
// when its outcome is known. The direction is stored with the article, so that a
// restart goes on the same way, and a person's retry turns it round.

// together keeps an all-or-nothing article together after one of its deliveries
// moved. It is part of the transaction that saves the move.
func (dr *Driver) together(tx state.Tx, d state.Delivery, c Context) error {
	a, err := tx.Article(d.Article)
	if err != nil || a.Consistency != article.AllOrNothing {
		return err
	}
	switch {
	case a.Backward == nil && (d.State == state.Rejected || d.State == state.Failed):
		a.Backward = &state.Backward{Target: d.Target, Why: fmt.Sprintf("%s is %s: %s", d.Target, d.State, errorText(d)), At: c.Now}
		if err := tx.PutArticle(a); err != nil {
			return err
		}
		return dr.takeBack(tx, d, c)
	case a.Backward != nil && d.State == state.Published && d.Wish == "":
		return dr.takeBack(tx, state.Delivery{Article: d.Article}, c) // landed late
	case a.Backward == nil && settled(d):
		return dr.releaseLast(tx, &a, c.Now)
	}
	return nil
}

func errorText(d state.Delivery) string {
	if d.Error == nil {
		return "no reason is recorded"
	}
	return d.Error.Message
}

// takeBack turns every other delivery of the article round.
func (dr *Driver) takeBack(tx state.Tx, cause state.Delivery, c Context) error {
	ds, err := tx.Deliveries(cause.Article)
	if err != nil {
		return err
	}
	for _, d := range ds {
		t := dr.targets[d.Target]
		if d.Target == cause.Target || t == nil {
			continue
		}
		e := state.Event{At: c.Now, Note: "all_or_nothing: the article is taken back"}
		_, canWithdraw := t.Platform.(platforms.Withdrawer)
		switch d.State {
		case state.Queued:
			e.Verb = state.Cancel
		case state.Published:
			if !canWithdraw {
				continue // it stays, and status names it
			}
			hold, err := tx.Hold(t.Account)
			if err != nil {
				return err
			}
			e.Verb, e.Due, e.Held = state.Withdraw, c.Now, hold.Held(c.Now)
		case state.Sending, state.Uncertain, state.Reviewing, state.Updating:
			d.Wish = state.WishWithdraw
		default:
			continue
		}
		if e.Verb != "" {
			if d, err = d.Apply(e); err != nil {
				return err
			}
		}
		if err := tx.PutDelivery(d); err != nil {
			return err
		}
	}
	return nil
}

// settled reports whether nothing that comes last has to wait for d any more: it
// is published, or a person no longer wants it.
func settled(d state.Delivery) bool {
	return d.State == state.Published || d.State == state.Canceled || d.State == state.Withdrawn
}

// releaseLast begins the deliveries that could not be taken back, once all
// others are settled. Whatever changes what they wait for asks it: a delivery
// that lands, a file that is dropped, a verdict, an approval.
func (dr *Driver) releaseLast(tx state.Tx, a *state.Article, now time.Time) error {
	if a.Consistency != article.AllOrNothing || a.Backward != nil || a.Hold != nil {
		return nil
	}
	ds, err := tx.Deliveries(a.ID)
	if err != nil {
		return err
	}
	var last []state.Delivery
	for _, d := range ds {
		switch {
		case d.Waits == state.WaitsOthers && d.State == state.Queued:
			last = append(last, d)
		case !settled(d):
			return nil
		}
	}
	for _, d := range last {
		d.Waits, d.Since = "", now
		if d, err = d.Apply(state.Event{Verb: state.Delay, At: now, Due: now, Free: true, Note: "no other is waited for any more"}); err != nil {
			return err
		}
		if err := tx.PutDelivery(d); err != nil {
			return err
		}
	}
	return nil
}

// comesLast reports whether a delivery of the article has to wait for others: it
// cannot be taken back, and there are some that can.
func (dr *Driver) comesLast(a *state.Article, target string) bool {
	if a.Consistency != article.AllOrNothing {
		return false
	}
	can := func(name string) bool {
		t := dr.targets[name]
		if t == nil {
			return false
		}
		_, ok := t.Platform.(platforms.Withdrawer)
		return ok
	}
	return !can(target) && slices.ContainsFunc(a.Targets, can)
}

// waits says what a new delivery waits for before its first attempt.
func (dr *Driver) waits(a *state.Article, target string) state.Waits {
	switch {
	case !a.CheckDue.IsZero():
		return state.WaitsCheck
	case dr.comesLast(a, target):
		return state.WaitsOthers
	}
	return ""
}

// forward turns an article that is being taken back round: what was taken back
// or canceled for it is published again, what is being taken back then is once
// that has ended, and what was to be taken back stays.
func (dr *Driver) forward(tx state.Tx, a *state.Article, c Context) error {
	if a.Backward == nil {
		return nil
	}
	a.Backward = nil
	if err := tx.PutArticle(*a); err != nil {
		return err
	}
	a.Version++
	ds, err := tx.Deliveries(a.ID)
	if err != nil {
		return err
	}
	for _, d := range ds {
		switch d.State {
		case state.Withdrawn, state.Canceled:
			e := state.Event{Verb: state.Republish, At: c.Now, Due: c.Now, Note: "all_or_nothing: forward again"}
			if d, err = d.Apply(e); err != nil {
				return err
			}
		case state.Withdrawing, state.Stuck:
			d.Wish = state.WishRepublish
		default:
			if d.Wish != state.WishWithdraw {
				continue
			}
			d.Wish = ""
		}
		if dr.comesLast(a, d.Target) {
			d.Waits, d.Due = state.WaitsOthers, time.Time{}
		}
		if err := tx.PutDelivery(d); err != nil {
			return err
		}
	}
	return nil
}
