package state

import (
	"fmt"
	"slices"
	"time"

	"herald/platforms"
)

// State is where a delivery stands.
type State string

// The states of a delivery.
const (
	Queued      State = "queued"
	Sending     State = "sending"
	Uncertain   State = "uncertain"
	Reviewing   State = "reviewing"
	Published   State = "published"
	Updating    State = "updating"
	Withdrawing State = "withdrawing"
	Withdrawn   State = "withdrawn"
	Rejected    State = "rejected"
	Failed      State = "failed"
	Stuck       State = "stuck"
	Canceled    State = "canceled"
)

// Verb is what happens to a delivery.
type Verb string

// The verbs.
const (
	Begin     Verb = "begin"     // the record of a call that is about to be made
	Land      Verb = "land"      // it is there
	Accept    Verb = "accept"    // taken, and under review
	Delay     Verb = "delay"     // not now
	Lose      Verb = "lose"      // sent, but the answer is lost
	Miss      Verb = "miss"      // looked up, and it is not there
	Reject    Verb = "reject"    // this content will never pass
	Fail      Verb = "fail"      // given up
	Cancel    Verb = "cancel"    // a person no longer wants it
	Retry     Verb = "retry"     // a person wants another try
	Revise    Verb = "revise"    // bring a newer revision
	Withdraw  Verb = "withdraw"  // take it back
	Gone      Verb = "gone"      // it is taken back
	Republish Verb = "republish" // publish once more, on purpose
	Observe   Verb = "observe"   // read again what is published; nothing moves
)

// Move is one row of the transition table.
type Move struct {
	From State
	Verb Verb
	To   State
}

// moves is the one table of the moves a delivery may make. The picture in the
// README is generated from it.
var moves = []Move{
	{Queued, Begin, Sending},
	{Queued, Delay, Queued},
	{Queued, Reject, Rejected},
	{Queued, Fail, Failed},
	{Queued, Cancel, Canceled},

	{Sending, Land, Published},
	{Sending, Accept, Reviewing},
	{Sending, Delay, Queued},
	{Sending, Lose, Uncertain},
	{Sending, Reject, Rejected},
	{Sending, Fail, Failed},

	{Uncertain, Land, Published},
	{Uncertain, Accept, Reviewing},
	{Uncertain, Miss, Queued},
	{Uncertain, Delay, Uncertain},
	{Uncertain, Reject, Rejected},
	{Uncertain, Fail, Failed},

	{Reviewing, Land, Published},
	{Reviewing, Delay, Reviewing},
	{Reviewing, Lose, Uncertain},
	{Reviewing, Reject, Rejected},
	{Reviewing, Fail, Failed},

	{Published, Revise, Updating},
	{Published, Withdraw, Withdrawing},
	{Published, Republish, Queued},
	{Published, Observe, Published},

	{Updating, Land, Published},
	{Updating, Delay, Updating},
	{Updating, Fail, Published},

	{Withdrawing, Gone, Withdrawn},
	{Withdrawing, Delay, Withdrawing},
	{Withdrawing, Fail, Stuck},

	{Stuck, Retry, Withdrawing},
	{Stuck, Gone, Withdrawn},
	{Stuck, Land, Published},

	{Rejected, Retry, Queued},
	{Rejected, Cancel, Canceled},
	{Failed, Retry, Queued},
	{Failed, Cancel, Canceled},

	{Withdrawn, Republish, Queued},
	{Canceled, Republish, Queued},
}

// Moves returns the whole table, for documentation and tests.
func Moves() []Move { return append([]Move(nil), moves...) }

// Next returns where verb leads from state; an illegal move is an error.
func Next(from State, verb Verb) (State, error) {
	for _, m := range moves {
		if m.From == from && m.Verb == verb {
			return m.To, nil
		}
	}
	return "", fmt.Errorf("delivery that is %s cannot %s", from, verb)
}

// Event is a verb with what came with it. Each field is used by the verbs that
// its comment names.
type Event struct {
	Verb Verb
	At   time.Time
	Op   string        // the call, for the history
	Took time.Duration // of the call
	// Due is when the next step is to be made: every verb that leads to a state
	// with one. With Begin it is when an unanswered call counts as lost, with Land
	// and Observe when the post is read again.
	Due time.Time
	// Failure is the error: Delay, Lose, Reject, Fail; nil leaves the last one.
	Failure *Failure
	// Free gives back the attempt that Begin took: Delay, Accept.
	Free bool
	// Doubt is why the outcome is open: Lose.
	Doubt Doubt
	// Receipt: Land, Accept.
	Receipt platforms.Receipt
	// Absent says that a look-up answered and found nothing: Delay.
	Absent bool
	// Dismiss says that a person accepts the post as it is: Observe.
	Dismiss bool
	// Revision is what an update brought: Land; 0 means what was sent.
	Revision int
	// Held is how long the account has been held in all: Retry, Revise,
	// Withdraw, Republish start the give-up clock with it.
	Held time.Duration
	// Note is said in the history.
	Note string
}

// Entry is one line of a delivery's history.
type Entry struct {
	At      time.Time      `json:"at"`
	Verb    Verb           `json:"verb"`
	State   State          `json:"state"` // after the verb
	Op      string         `json:"op,omitempty"`
	Kind    platforms.Kind `json:"kind,omitempty"`
	Code    string         `json:"code,omitempty"`
	Message string         `json:"message,omitempty"`
	Took    time.Duration  `json:"took,omitempty"`
}

// historyLimit bounds a delivery's history. The first entries tell how it
// began, the last ones where it stands; the middle gives way.
const (
	historyLimit = 40
	historyHead  = 8
)

// Apply makes one move: the only place where a delivery changes its state. The
// receiver is not changed; an illegal move is an error.
func (d Delivery) Apply(e Event) (Delivery, error) {
	from := d.State
	to, err := Next(from, e.Verb)
	if err != nil {
		return d, fmt.Errorf("%s: %w", d.Key(), err)
	}
	d.State, d.Due = to, e.Due
	if e.Failure != nil {
		d.Error = e.Failure
	}
	switch e.Verb {
	case Begin:
		d.Attempts++
		d.Spent++
		d.LastBegun, d.Sent = e.At, d.Revision
		if d.Begun.IsZero() {
			d.Begun = e.At
		}
	case Delay:
		d.delayed(from, e)
	case Lose:
		d.Doubt, d.LookUps, d.Absences = e.Doubt, 0, 0
		d.Losses++
	case Miss:
		d.Doubt = ""
	case Accept:
		d.Receipt, d.Accepted, d.Polls, d.Error, d.Doubt = e.Receipt, e.At, 0, nil, ""
	case Land:
		d.landed(from, e)
	case Fail, Reject, Cancel:
		d.Due, d.Doubt = time.Time{}, ""
		if to == Canceled {
			d.Wish = ""
		}
	case Gone:
		d.Due, d.Error, d.Landed = time.Time{}, nil, 0
	case Retry, Revise:
		d.restartClock(e)
	case Withdraw:
		d.restartClock(e)
		d.Wish = ""
	case Observe:
		d.observed(e)
	case Republish:
		d.restartClock(e)
		d.Generation++
		d.Attempts, d.Landed, d.Sent = 0, 0, 0
		d.Losses = 0
		d.Begun, d.LastBegun, d.PublishedAt, d.ObservedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		d.Receipt, d.Error, d.Wish = platforms.Receipt{}, nil, ""
	}
	if e.Verb == Observe && e.Failure == nil && e.Note == "" {
		return d, nil // all is as it should be: nothing to tell
	}
	d.History = appendHistory(d.History, e, to)
	return d, nil
}

func (d *Delivery) delayed(from State, e Event) {
	switch from {
	case Sending:
		if e.Free && d.Spent > 0 {
			d.Spent--
		}
	case Updating, Withdrawing:
		if !e.Free {
			d.Spent++
		}
	case Uncertain:
		d.LookUps++
		if e.Absent {
			d.Absences++
		}
	case Reviewing:
		d.Polls++
	case Queued:
		if !e.Free {
			d.Spent++
		}
	}
}

func (d *Delivery) landed(from State, e Event) {
	d.Receipt = e.Receipt
	if d.Wish == WishRepublish {
		d.Wish = "" // it never went away
	}
	d.Error, d.Doubt, d.LookUps, d.Absences, d.Waits = nil, "", 0, 0, ""
	switch {
	case e.Revision > 0:
		d.Landed = e.Revision
	case from != Stuck:
		d.Landed = d.Sent
	}
	if d.PublishedAt.IsZero() {
		d.PublishedAt = e.At
	}
}

func (d *Delivery) observed(e Event) {
	d.LookUps++
	switch {
	case e.Dismiss:
		if d.Error != nil {
			d.Dismissed = d.Error.Message
		}
		d.Error, d.Revision = nil, d.Landed
	case e.Absent:
		d.Absences++
	case e.Failure == nil && d.Error != nil && slices.Contains([]string{CodeGone, CodeTwins, CodeChanged}, d.Error.Code):
		d.Error = nil // it is as it should be again
	}
	if e.Due.IsZero() { // this round of look-ups is over
		d.ObservedAt, d.LookUps, d.Absences = e.At, 0, 0
	}
}

func (d *Delivery) restartClock(e Event) {
	d.Spent, d.Since, d.HeldBefore, d.Waits = 0, e.At, e.Held, ""
}

func appendHistory(h []Entry, e Event, to State) []Entry {
	entry := Entry{At: e.At, Verb: e.Verb, State: to, Op: e.Op, Took: e.Took, Message: e.Note}
	if e.Failure != nil {
		entry.Kind, entry.Code, entry.Message = e.Failure.Kind, e.Failure.Code, e.Failure.Message
	}
	if len(h) < historyLimit {
		return append(slices.Clip(h), entry)
	}
	kept := make([]Entry, 0, historyLimit)
	kept = append(kept, h[:historyHead]...)
	kept = append(kept, h[len(h)-(historyLimit-historyHead-1):]...)
	return append(kept, entry)
}
