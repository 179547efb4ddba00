package compensate

import (
	"context"
	"fmt"
	"time"

	"herald/platforms"
	"herald/publisher"
	"herald/state"
)

// One function here is one state's step: the call it asks for, and nothing else.

func (dr *Driver) publish(ctx context.Context, w work, now time.Time) (Next, error) {
	c := dr.context(w, now)
	if held, err := dr.holdIfLate(w, c); held || err != nil {
		return Next{Done: true}, err
	}
	if why := exhausted(w.Delivery, w.Spent, c); why != "" {
		return dr.apply(w, state.Event{Verb: state.Fail, At: now, Failure: lastFailure(w.Delivery, now, why)})
	}
	post, fault := dr.render(w, w.Revision)
	if fault != nil {
		return dr.unsendable(w, fault, c)
	}
	permit, again := w.target.Permit(now, true)
	if permit == nil {
		return Next{At: again, Refused: true}, nil
	}
	if err := dr.begin(&w, now); err != nil {
		permit.Return()
		return Next{}, err
	}
	a := Answer{Op: "publish"}
	a.Outcome = permit.Call(ctx, a.Op, func(ctx context.Context) (err error) {
		a.Receipt, err = w.target.Platform.Publish(ctx, post, dr.memo(w))
		return err
	})
	if _, reviews := w.target.Platform.(platforms.Reviewer); !reviews {
		a.Receipt.Pending = false // nobody will ever tell more
	}
	return dr.settle(ctx, w, a)
}

// begin writes the intent down before the call. Its Due is the time from which
// the call counts as lost should this process not come back to say otherwise.
func (dr *Driver) begin(w *work, now time.Time) error {
	lease := now.Add(w.target.Settings().Timeout + leaseMargin)
	var began state.Delivery
	err := dr.store.Update(func(tx state.Tx) error {
		var err error
		if began, err = w.Delivery.Apply(state.Event{Verb: state.Begin, At: now, Due: lease, Op: "publish"}); err != nil {
			return err
		}
		if w.hold.Active(now) { // this call is the probe: the next one comes after it
			h := w.hold
			h.Until = lease
			if err := tx.PutHold(h); err != nil {
				return err
			}
		}
		if late := now.Sub(w.article.PublishAt); w.Attempts == 0 && !w.article.PublishAt.IsZero() && late > lateAfter && w.article.Late == 0 {
			a, err := tx.Article(w.Article)
			if err != nil {
				return err
			}
			a.Late = late
			if err := tx.PutArticle(a); err != nil {
				return err
			}
		}
		return tx.PutDelivery(began)
	})
	if err != nil {
		return fmt.Errorf("begin %s: %w", w.Key(), err)
	}
	began.Version++
	w.Delivery = began
	dr.logMove(state.Queued, began, state.Event{Verb: state.Begin, Op: "publish"})
	return nil
}

// lateAfter is how long after publish_at a first call is shown as late.
const lateAfter = time.Minute

// holdIfLate holds an article whose time passed longer ago than it allows,
// before anything of it was sent. Time during which the target was held does not
// count: the article was not forgotten then.
func (dr *Driver) holdIfLate(w work, c Context) (bool, error) {
	late := active(w.Delivery, c)
	if w.article.PublishAt.IsZero() || w.article.SkipIfLate <= 0 || late <= w.article.SkipIfLate ||
		w.Attempts > 0 || w.article.IsApproved(state.HeldLate) {
		return false, nil
	}
	message := fmt.Sprintf("due %s ago, and skip_if_late is %s", late.Round(time.Second), w.article.SkipIfLate)
	dr.log.Error("article held: too late", "article", w.Article, "late", late)
	return true, dr.hold(w.Article, state.ArticleHold{Reason: state.HeldLate, Message: message, At: c.Now})
}

// unsendable is the step of a delivery that cannot even be rendered.
func (dr *Driver) unsendable(w work, fault *platforms.Error, c Context) (Next, error) {
	e := state.Event{At: c.Now, Op: "render", Verb: state.Reject, Failure: &state.Failure{
		Kind: fault.Kind, Op: "render", Code: fault.Code, Message: message(fault), At: c.Now,
	}}
	if fault.Kind.Meaning().Reaction == platforms.RetryLater { // the source, not the content
		e.Verb, e.Due = state.Delay, c.Now.Add(backoff(c.Settings.Retry, max(1, w.Spent+1), c.Random))
	}
	return dr.apply(w, e)
}

func (dr *Driver) find(ctx context.Context, w work, now time.Time) (Next, error) {
	finder, ok := w.target.Platform.(platforms.Finder)
	if !ok { // it could look up when this was written down
		return dr.apply(w, state.Event{Verb: state.Delay, At: now, Note: "this platform has no look-up: a person decides"})
	}
	post, fault := dr.render(w, max(1, w.Sent))
	if fault != nil {
		e, _ := Decide(w.Delivery, Answer{Op: "find", Outcome: publisher.Outcome{Err: fault}}, dr.context(w, now))
		return dr.apply(w, e)
	}
	return dr.ask(ctx, w, now, "find", func(ctx context.Context, a *Answer) (err error) {
		a.Found, err = finder.Find(ctx, post, w.Begun.Add(-sinceMargin), dr.memo(w))
		return err
	})
}

func (dr *Driver) review(ctx context.Context, w work, now time.Time) (Next, error) {
	reviewer, ok := w.target.Platform.(platforms.Reviewer)
	if !ok {
		return dr.apply(w, state.Event{Verb: state.Land, At: now, Receipt: w.Receipt, Note: "this platform has no review"})
	}
	return dr.ask(ctx, w, now, "review", func(ctx context.Context, a *Answer) (err error) {
		a.Receipt, err = reviewer.Review(ctx, w.Receipt)
		return err
	})
}

// observe reads a published post again: for copies after a late success, and now
// and then to see whether it is still there. Copies are taken back where the
// configuration asks for it.
func (dr *Driver) observe(ctx context.Context, w work, now time.Time) (Next, error) {
	finder, ok := w.target.Platform.(platforms.Finder)
	if !ok {
		return dr.apply(w, state.Event{Verb: state.Observe, At: now})
	}
	post, fault := dr.render(w, max(1, w.Landed))
	if fault != nil { // its source was pruned: there is nothing to compare with
		return dr.apply(w, state.Event{Verb: state.Observe, At: now})
	}
	withdrawer, canWithdraw := w.target.Platform.(platforms.Withdrawer)
	return dr.ask(ctx, w, now, "observe", func(ctx context.Context, a *Answer) (err error) {
		if a.Found, err = finder.Find(ctx, post, w.Begun.Add(-sinceMargin), dr.memo(w)); err != nil {
			return err
		}
		for canWithdraw && w.target.Settings().RemoveTwins && len(a.Found.Twins) > 0 {
			if err := withdrawer.Withdraw(ctx, a.Found.Twins[0]); err != nil {
				return err
			}
			dr.log.Warn("surplus copy taken back", "target", w.Target, "article", w.Article, "remote_id", a.Found.Twins[0].ID)
			a.Found.Twins = a.Found.Twins[1:]
		}
		return nil
	})
}

// ask makes a call that changes nothing: it needs no intent.
func (dr *Driver) ask(ctx context.Context, w work, now time.Time, op string, call func(context.Context, *Answer) error) (Next, error) {
	return dr.make(ctx, w, now, op, false, call)
}

// update brings a newer revision. It is idempotent, so a crash in the middle is
// answered by doing it again.
func (dr *Driver) update(ctx context.Context, w work, now time.Time) (Next, error) {
	updater, ok := w.target.Platform.(platforms.Updater)
	if !ok {
		return dr.apply(w, state.Event{Verb: state.Fail, At: now, Failure: lastFailure(w.Delivery, now, "this platform cannot update a post")})
	}
	post, fault := dr.render(w, w.Revision)
	if fault != nil {
		e, _ := Decide(w.Delivery, Answer{Op: "update", Outcome: publisher.Outcome{Err: fault}}, dr.context(w, now))
		return dr.apply(w, e)
	}
	return dr.make(ctx, w, now, "update", true, func(ctx context.Context, a *Answer) (err error) {
		a.Revision = post.Revision
		a.Receipt, err = updater.Update(ctx, post, w.Receipt, dr.memo(w))
		return err
	})
}

func (dr *Driver) withdraw(ctx context.Context, w work, now time.Time) (Next, error) {
	withdrawer, ok := w.target.Platform.(platforms.Withdrawer)
	if !ok {
		return dr.apply(w, state.Event{Verb: state.Fail, At: now, Failure: lastFailure(w.Delivery, now, "this platform cannot withdraw a post")})
	}
	return dr.make(ctx, w, now, "withdraw", true, func(ctx context.Context, _ *Answer) error {
		return withdrawer.Withdraw(ctx, w.Receipt)
	})
}

// make makes a call whose repetition is harmless: permit, call, settle.
func (dr *Driver) make(ctx context.Context, w work, now time.Time, op string, changing bool, call func(context.Context, *Answer) error) (Next, error) {
	permit, again := w.target.Permit(now, changing)
	if permit == nil {
		return Next{At: again, Refused: true}, nil
	}
	a := Answer{Op: op}
	a.Outcome = permit.Call(ctx, op, func(ctx context.Context) error { return call(ctx, &a) })
	return dr.settle(ctx, w, a)
}

// expire turns a call that never came back into an open question.
func (dr *Driver) expire(w work, now time.Time) (Next, error) {
	if now.Before(w.Due) {
		return Next{At: w.Due}, nil
	}
	return dr.apply(w, lost(w.Delivery, dr.context(w, now), state.DoubtLost, "the call never came back"))
}

// lost is the event of a call whose answer nobody has.
func lost(_ state.Delivery, c Context, doubt state.Doubt, why string) state.Event {
	return state.Event{
		Verb: state.Lose, At: c.Now, Doubt: doubt, Due: lookUpAt(c),
		Failure: &state.Failure{Kind: platforms.Uncertain, Op: "publish", Message: why, At: c.Now},
	}
}
