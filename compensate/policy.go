// Package compensate drives deliveries forward until they are final, or tells
// which one is not and why. Its policy is pure: what an answer means for a
// delivery, and when it is tried again. Its Driver makes the one step that a
// record asks for: load, call, decide, save. It owns no timer and no goroutine;
// when a step is due is package scheduler's to keep.
package compensate

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"herald/internal/config"
	"herald/platforms"
	"herald/publisher"
	"herald/state"
)

// Answer is what came back from the one call of a step.
type Answer struct {
	publisher.Outcome
	Op      string
	Receipt platforms.Receipt // of a create, an update or a review
	Found   platforms.Found   // of a look-up
	// Foreign says that what a look-up found is another delivery's post.
	Foreign bool
	// Revision is what the call carried.
	Revision int
}

// Context is what a decision depends on beside the record and the answer.
type Context struct {
	Settings config.Target
	Hold     state.Hold
	CanFind  bool
	Now      time.Time
	Random   float64 // 0 ≤ r < 1, for jitter
}

// Decide says what an answer means: the event for the delivery, and the hold for
// its account (nil: as it is). It is pure.
func Decide(d state.Delivery, a Answer, c Context) (state.Event, *state.Hold) {
	e := state.Event{At: c.Now, Op: a.Op, Took: a.Took}
	if a.Err == nil {
		return succeeded(d, a, c, e), cleared(d, c)
	}
	e.Failure = &state.Failure{
		Kind: a.Err.Kind, Op: a.Err.Op, Code: a.Err.Code, Message: message(a.Err), At: c.Now,
	}
	if state.ClassOf(d.State) == state.Asking && d.State != state.Sending && c.Hold.Active(c.Now) && !c.Hold.ForPerson {
		return failed(d, a, c, e), nil // a look-up does not lengthen the hold that let it through
	}
	return failed(d, a, c, e), holdFor(a.Err, c)
}

// succeeded is the event of a call that was answered without an error.
func succeeded(d state.Delivery, a Answer, c Context, e state.Event) state.Event {
	switch d.State {
	case state.Withdrawing:
		e.Verb = state.Gone
	case state.Uncertain:
		return lookedUp(d, a, c, e)
	case state.Published:
		return observed(d, a, c, e)
	case state.Reviewing:
		if a.Receipt.Pending {
			e.Verb, e.Due = state.Delay, c.Now.Add(doubled(c.Settings.Review.Every, c.Settings.Review.Max, d.Polls+1))
			return e
		}
		return taken(d, a.Receipt, c, e)
	case state.Updating:
		e.Verb, e.Receipt, e.Revision = state.Land, a.Receipt, a.Revision
	default:
		return taken(d, a.Receipt, c, e)
	}
	return e
}

// taken is the event of a platform that has the post: for good, or under review.
// Where an answer was lost on the way there, a copy may exist that nobody knows
// of: the post is looked up once more then.
func taken(d state.Delivery, r platforms.Receipt, c Context, e state.Event) state.Event {
	e.Receipt = r
	switch {
	case r.ID == "":
		e.Verb, e.Doubt, e.Due = state.Lose, state.DoubtNoID, lookUpAt(c)
		e.Failure = &state.Failure{Kind: platforms.Uncertain, Op: e.Op, Code: platforms.CodeNoID, Message: "accepted, but no id came back", At: c.Now}
	case r.Pending:
		e.Verb, e.Due = state.Accept, c.Now.Add(c.Settings.Review.Every)
	default:
		e.Verb = state.Land
		if d.Losses > 0 && c.CanFind {
			e.Due = c.Now.Add(max(c.Settings.Lookup.AbsentAfter, time.Second))
		}
	}
	return e
}

// observed is the event of reading a published post again. It is never created
// again by itself, whatever is found.
func observed(d state.Delivery, a Answer, c Context, e state.Event) state.Event {
	e.Verb = state.Observe
	switch {
	case a.Found.Outcome == platforms.Present && len(a.Found.Twins) > 0:
		e.Failure = &state.Failure{
			Kind: platforms.Exists, Op: a.Op, Code: state.CodeTwins, At: c.Now,
			Message: fmt.Sprintf("there are %d copies of this post: %s", len(a.Found.Twins)+1, addresses(a.Found)),
		}
	case a.Found.Outcome == platforms.Present && a.Found.Changed != "":
		e.Failure = &state.Failure{
			Kind: platforms.Exists, Op: a.Op, Code: state.CodeChanged, At: c.Now,
			Message: "somebody has changed it on the platform: " + a.Found.Changed,
		}
	case a.Found.Outcome != platforms.Absent || a.Foreign:
	case d.Absences+1 < max(1, c.Settings.Lookup.Times):
		e.Absent, e.Due = true, c.Now.Add(doubled(c.Settings.Retry.Base, c.Settings.Retry.Max, d.LookUps))
	default:
		e.Absent = true
		e.Failure = &state.Failure{
			Kind: platforms.Unknown, Op: a.Op, Code: state.CodeGone, At: c.Now,
			Message: "it is not among the platform's posts any more: deleted, or taken down",
		}
	}
	if e.Failure != nil && e.Failure.Message == d.Dismissed {
		e.Failure = nil
	}
	return e
}

// addresses names the copies of a post.
func addresses(f platforms.Found) string {
	var all []string
	for _, r := range append([]platforms.Receipt{f.Receipt}, f.Twins...) {
		all = append(all, cmp.Or(r.URL, r.ID))
	}
	return strings.Join(all, ", ")
}

// lookedUp is the event of a look-up's answer. Presence counts at once; absence
// only when it was found often enough and long enough after the call.
func lookedUp(d state.Delivery, a Answer, c Context, e state.Event) state.Event {
	switch {
	case a.Found.Outcome == platforms.Present && !a.Foreign && a.Found.Receipt.ID != "":
		return taken(d, a.Found.Receipt, c, e)
	case a.Found.Outcome == platforms.Partial:
		e.Verb, e.Due, e.Note = state.Miss, c.Now, "found half done; it goes on from there"
		return e
	}
	l := c.Settings.Lookup
	if d.Absences+1 < l.Times || c.Now.Before(d.LastBegun.Add(l.AbsentAfter)) {
		e.Verb, e.Absent, e.Note = state.Delay, true, "not found yet"
		e.Due = c.Now.Add(doubled(c.Settings.Retry.Base, c.Settings.Retry.Max, d.LookUps))
		return e
	}
	switch d.Doubt {
	case state.DoubtNoID:
		e.Verb, e.Absent = state.Delay, true // Due stays zero: it waits for a person
		e.Note = "accepted by the platform, but it cannot be found; a person decides"
	case state.DoubtExists:
		e.Verb, e.Failure = state.Reject, lastFailure(d, c.Now, "the platform says that it has this post already, but it is not among its posts")
	case state.DoubtUnknown:
		e.Verb, e.Failure = state.Fail, lastFailure(d, c.Now, "the platform answered with an unknown code, and the post is not there")
	case state.DoubtCrash:
		e.Verb, e.Due, e.Note = state.Miss, c.Now, "looked up: it is not there"
	default:
		e.Verb, e.Note = state.Miss, "looked up: it is not there"
		e.Due = later(c.Now, d.LastBegun.Add(backoff(c.Settings.Retry, d.Spent, c.Random)))
	}
	return e
}

// lastFailure keeps the code of the error that brought the doubt.
func lastFailure(d state.Delivery, now time.Time, why string) *state.Failure {
	f := state.Failure{Kind: platforms.Unknown, Message: why, At: now}
	if d.Error != nil {
		f.Kind, f.Op, f.Code = d.Error.Kind, d.Error.Op, d.Error.Code
		f.Message = why + ": " + d.Error.Message
	}
	return &f
}

// failed is the event of a call that was answered with an error.
func failed(d state.Delivery, a Answer, c Context, e state.Event) state.Event {
	m := a.Err.Kind.Meaning()
	e.Free = !m.Spent || a.Trial
	create := d.State == state.Sending
	switch {
	case d.State == state.Published: // nothing learned: the next sweep asks again
		e.Verb, e.Failure = state.Observe, d.Error
		return e
	case a.Interrupted && !create:
		e.Verb, e.Due, e.Free, e.Note = state.Delay, c.Now, true, interrupted
		return e
	case d.State == state.Uncertain:
		e.Verb, e.Due = state.Delay, c.Now.Add(doubled(c.Settings.Retry.Base, c.Settings.Retry.Max, d.LookUps))
		return e
	case d.State == state.Reviewing && m.Reaction == platforms.RetryLater:
		e.Verb, e.Due = state.Delay, c.Now.Add(doubled(c.Settings.Review.Every, c.Settings.Review.Max, d.Polls+1))
		return e
	}
	switch m.Reaction {
	case platforms.HoldUntil, platforms.HoldForPerson:
		e.Verb, e.Due = state.Delay, d.Since // the hold keeps it back, in its old place
		return e
	case platforms.StopRejected:
		e.Verb = state.Reject
		if !create && d.State != state.Reviewing {
			e.Verb = state.Fail
		}
		return e
	case platforms.LookElseRetry, platforms.LookElseStop, platforms.LookElseFail:
		if create || d.State == state.Reviewing {
			e.Verb, e.Doubt, e.Due = state.Lose, doubtOf(a.Err), lookUpAt(c)
			return e
		}
	}
	if a.Interrupted {
		e.Verb, e.Due, e.Free, e.Note = state.Delay, c.Now, true, interrupted
		return e
	}
	return delayed(d, a, c, e)
}

const interrupted = "interrupted: herald is stopping"

// delayed is the event of a failure that is tried again, or given up.
func delayed(d state.Delivery, a Answer, c Context, e state.Event) state.Event {
	spent := d.Spent
	if d.State == state.Updating || d.State == state.Withdrawing {
		spent++ // Begin has not counted this call: updates and withdrawals need no intent
	}
	if e.Free {
		spent--
	}
	if why := exhausted(d, spent, c); why != "" {
		e.Verb = state.Fail
		e.Failure.Message = why + ": " + e.Failure.Message
		return e
	}
	e.Verb = state.Delay
	e.Due = later(c.Now.Add(backoff(c.Settings.Retry, max(1, spent), c.Random)), a.Err.RetryAt)
	return e
}

// exhausted says why no further attempt is made; empty while there is one. Time
// during which the account was held does not count.
func exhausted(d state.Delivery, spent int, c Context) string {
	r := c.Settings.Retry
	if r.Attempts > 0 && spent >= r.Attempts {
		return fmt.Sprintf("given up after %d attempts", spent)
	}
	if r.GiveUpAfter > 0 && active(d, c) >= r.GiveUpAfter {
		return fmt.Sprintf("given up after %s", r.GiveUpAfter)
	}
	return ""
}

// active is how long the delivery has been tried, without the time its account
// was held.
func active(d state.Delivery, c Context) time.Duration {
	return c.Now.Sub(d.Since) - (c.Hold.Held(c.Now) - d.HeldBefore)
}

// doubtOf says why the outcome of a failed create is open.
func doubtOf(err *platforms.Error) state.Doubt {
	switch err.Kind.Meaning().Reaction {
	case platforms.LookElseStop:
		return state.DoubtExists
	case platforms.LookElseFail:
		return state.DoubtUnknown
	}
	if err.Code == platforms.CodeNoID {
		return state.DoubtNoID
	}
	return state.DoubtLost
}

// lookUpAt is when the first look-up is made: at once, or never where the
// platform has none and a person must look.
func lookUpAt(c Context) time.Time {
	if c.CanFind {
		return c.Now
	}
	return time.Time{}
}

// cleared lifts a hold after a success; nil when there is none to lift. A call
// that only asked proves nothing about a quota for posting.
func cleared(d state.Delivery, c Context) *state.Hold {
	if (c.Hold.Kind == "" && !c.Hold.Broken) || state.ClassOf(d.State) == state.Asking && d.State != state.Sending {
		return nil
	}
	h := c.Hold.Clear(c.Now)
	return &h
}

// holdFor is the hold that an error puts on its account; nil for none. What lies
// between herald and the platform is remembered as broken, which holds nothing,
// so that people are told once.
func holdFor(err *platforms.Error, c Context) *state.Hold {
	h := state.Hold{
		Account: c.Hold.Account, Kind: err.Kind, Op: err.Op, Code: err.Code, Message: message(err),
		Since: c.Now, Level: c.Hold.Level + 1, Total: c.Hold.Held(c.Now), Broken: c.Hold.Broken,
	}
	if c.Hold.Active(c.Now) { // it goes on
		h.Since, h.Total = c.Hold.Since, c.Hold.Total
	}
	switch err.Kind.Meaning().Reaction {
	case platforms.HoldForPerson:
		h.ForPerson = true
		h.Until = c.Now.Add(doubled(c.Settings.Probe.Every, c.Settings.Probe.Max, h.Level-1))
	case platforms.HoldUntil:
		h.Until = err.RetryAt
		if !h.Until.After(c.Now) {
			h.Until = c.Now.Add(doubled(c.Settings.Retry.Base, c.Settings.Retry.Max, h.Level-1))
		}
	default:
		if err.Kind == platforms.Dependency && !c.Hold.Broken {
			broken := c.Hold
			broken.Broken = true
			return &broken
		}
		return nil
	}
	return &h
}

// Follow returns the event that a wish or a newer revision asks for now that the
// outcome is known; false when there is none. It is pure.
func Follow(d state.Delivery, canUpdate, canWithdraw bool, c Context) (state.Event, bool) {
	e := state.Event{At: c.Now, Due: c.Now, Held: c.Hold.Held(c.Now)}
	wanted := d.Wish == state.WishCancel || d.Wish == state.WishWithdraw
	switch {
	case wanted && (d.State == state.Queued || d.State == state.Rejected || d.State == state.Failed):
		e.Verb, e.Due, e.Note = state.Cancel, time.Time{}, "as wished while the outcome was open"
	case wanted && d.State == state.Published && canWithdraw:
		e.Verb, e.Note = state.Withdraw, "as wished while the outcome was open"
	case d.Wish == state.WishRepublish && d.State == state.Withdrawn:
		e.Verb, e.Note = state.Republish, "as wished while it was taken back"
	case d.State == state.Published && d.Outdated() && d.Error == nil && canUpdate:
		e.Verb = state.Revise
	default:
		return state.Event{}, false
	}
	return e, true
}

// backoff is how long to wait before the n-th repetition, n from 1, spread by
// the jitter to both sides.
func backoff(r config.Retry, n int, random float64) time.Duration {
	return time.Duration(float64(r.Wait(n)) * (1 + r.Jitter*(2*random-1)))
}

// doubled is base·2ⁿ, at most limit.
func doubled(base, limit time.Duration, n int) time.Duration {
	for ; n > 0 && base < limit; n-- {
		base *= 2
	}
	return min(base, limit)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// message is what an error says to people.
func message(err *platforms.Error) string {
	switch {
	case err.Message != "":
		return err.Message
	case err.Err != nil:
		return err.Err.Error()
	}
	return string(err.Kind)
}
