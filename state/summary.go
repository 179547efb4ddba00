package state

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"herald/platforms"
)

// ArticleState is what an article as a whole is shown as.
type ArticleState string

// The article states.
const (
	ArticleHeld       ArticleState = "held"
	ArticleScheduled  ArticleState = "scheduled"
	ArticleQueued     ArticleState = "queued"
	ArticlePublishing ArticleState = "publishing"
	ArticleSuccess    ArticleState = "success"
	ArticlePartial    ArticleState = "partial_success"
	ArticleFailed     ArticleState = "failed"
	ArticleWithdrawn  ArticleState = "withdrawn"
	ArticleCanceled   ArticleState = "canceled"
)

// Outlook is what is known at this moment about a target, beside its records.
type Outlook struct {
	Hold Hold
	// OpenUntil is when the open breaker lets a probe through; zero when it is
	// not open.
	OpenUntil time.Time
	// ReadyAt is when pace and breaker let the next call through.
	ReadyAt time.Time
	// CanWithdraw says that the platform takes posts back.
	CanWithdraw bool
}

// Report is one article as `herald status --json` prints it.
type Report struct {
	ID         ArticleID        `json:"id"`
	Title      string           `json:"title"`
	Revision   int              `json:"revision"`
	State      ArticleState     `json:"state"`
	Degraded   bool             `json:"degraded"`
	AcceptedAt time.Time        `json:"accepted_at"`
	PublishAt  *time.Time       `json:"publish_at,omitempty"`
	Late       string           `json:"late,omitempty"` // how long, "3h12m0s"
	Hold       *ArticleHold     `json:"hold,omitempty"`
	Backward   *Backward        `json:"backward,omitempty"`
	Notes      []string         `json:"notes,omitempty"`
	Quality    *Quality         `json:"quality"`
	Deliveries []DeliveryReport `json:"deliveries"`
}

// DeliveryReport is one delivery of a [Report].
type DeliveryReport struct {
	Target      string       `json:"target"`
	Type        string       `json:"type"`
	State       State        `json:"state"`
	Attempts    int          `json:"attempts"`
	Due         *time.Time   `json:"due"`
	RemoteID    string       `json:"remote_id"`
	URL         string       `json:"url"`
	PublishedAt *time.Time   `json:"published_at"`
	Error       *ErrorReport `json:"error"`
	Hint        string       `json:"hint"`
	Generation  int          `json:"generation,omitempty"`
	Waits       Waits        `json:"waits,omitempty"`
	History     []Entry      `json:"history,omitempty"`
}

// ErrorReport is the last error of a delivery.
type ErrorReport struct {
	Kind    platforms.Kind  `json:"kind"`
	Class   platforms.Class `json:"class"`
	Code    string          `json:"code"`
	Message string          `json:"message"`
}

// NeedsPerson reports whether somebody has to act before the delivery goes on.
func (r *DeliveryReport) NeedsPerson() bool {
	switch r.State {
	case Rejected, Failed, Stuck:
		return true
	case Queued, Uncertain, Updating, Withdrawing, Reviewing:
		return (r.Due == nil && r.Waits == "") || (r.Error != nil && r.Error.Class == platforms.Permanent)
	case Published:
		return r.Error != nil
	}
	return false
}

// NeedsPerson reports whether somebody has to act on the article.
func (r *Report) NeedsPerson() bool {
	switch r.State {
	case ArticleHeld, ArticleFailed:
		return true
	case ArticleScheduled:
		return false
	}
	return slices.ContainsFunc(r.Deliveries, func(d DeliveryReport) bool { return d.NeedsPerson() })
}

// Summarize folds an article's deliveries into what people see. It is pure:
// nothing of it is stored, so it cannot come to disagree with the records.
func Summarize(a Article, ds []Delivery, outlook func(target string) Outlook, now time.Time) Report {
	r := Report{
		ID: a.ID, Title: a.Title, Revision: a.Revision, AcceptedAt: a.AcceptedAt,
		PublishAt: timePtr(a.PublishAt), Hold: a.Hold, Backward: a.Backward, Notes: a.Notes, Quality: a.Quality,
		Degraded: a.Quality != nil && a.Quality.Degraded, Deliveries: []DeliveryReport{},
	}
	if a.Late > 0 {
		r.Late = a.Late.Round(time.Second).String()
	}
	order := func(target string) int { return slices.Index(a.Targets, target) }
	ds = slices.Clone(ds)
	slices.SortStableFunc(ds, func(x, y Delivery) int { return cmp.Compare(order(x.Target), order(y.Target)) })
	for _, d := range ds {
		r.Deliveries = append(r.Deliveries, reportDelivery(a, d, outlook(d.Target), now))
	}
	r.State = fold(a, ds, outlook, now)
	return r
}

// fold is the article's state as a function of its deliveries.
func fold(a Article, ds []Delivery, outlook func(string) Outlook, now time.Time) ArticleState {
	var published, withdrawn, canceled, dead, erred, begun int
	for _, d := range ds {
		if d.Attempts > 0 || d.State != Queued {
			begun++
		}
		switch d.State {
		case Published, Updating, Withdrawing, Stuck:
			published++
		case Withdrawn:
			withdrawn++
		case Canceled:
			canceled++
		case Rejected, Failed:
			dead++
		case Uncertain:
			erred++
		}
		switch {
		case d.State == Canceled || d.State == Withdrawn || d.State == Rejected || d.State == Failed || d.State == Uncertain:
		case d.Error != nil || d.State == Stuck:
			erred++
		case d.State == Queued && outlook(d.Target).Hold.Active(now):
			erred++
		}
	}
	switch n := len(ds); {
	case a.Hold != nil && begun == 0:
		return ArticleHeld
	case n == 0:
		return ArticleFailed
	case published == n && erred == 0:
		return ArticleSuccess
	case withdrawn+canceled == n && withdrawn > 0:
		return ArticleWithdrawn
	case canceled == n:
		return ArticleCanceled
	case published > 0 && dead+erred+withdrawn+canceled > 0:
		return ArticlePartial
	case published == 0 && dead > 0 && dead+withdrawn+canceled == n:
		return ArticleFailed
	case begun == 0 && a.PublishAt.After(now):
		return ArticleScheduled
	case begun == 0:
		return ArticleQueued
	default:
		return ArticlePublishing
	}
}

func reportDelivery(a Article, d Delivery, o Outlook, now time.Time) DeliveryReport {
	r := DeliveryReport{
		Target: d.Target, Type: d.Type, State: d.State, Attempts: d.Attempts, Generation: d.Generation, History: d.History,
		Waits:    d.Waits,
		RemoteID: d.Receipt.ID, URL: d.Receipt.URL, PublishedAt: timePtr(d.PublishedAt), Due: timePtr(nextStep(d, o, now)),
	}
	if f := d.Error; f != nil {
		r.Error = &ErrorReport{Kind: f.Kind, Class: f.Kind.Class(), Code: f.Code, Message: f.Message}
	} else if waitsForTarget(d) && o.Hold.Active(now) {
		r.Error = &ErrorReport{Kind: o.Hold.Kind, Class: o.Hold.Kind.Class(), Code: o.Hold.Code, Message: o.Hold.Message}
	}
	r.Hint = hint(a, d, o, now)
	return r
}

// waitsForTarget reports whether the delivery's next step is a call that a hold
// or an open breaker keeps back.
func waitsForTarget(d Delivery) bool {
	return d.State == Queued || d.State == Updating || d.State == Withdrawing
}

// nextStep says when something happens next, whatever the delivery waits for.
func nextStep(d Delivery, o Outlook, now time.Time) time.Time {
	at := d.Due
	if at.IsZero() || d.State == Published { // reading it again is no step of the delivery
		return time.Time{}
	}
	if d.State != Sending && o.Hold.Keeps(ClassOf(d.State), now) && o.Hold.Until.After(at) {
		at = o.Hold.Until
	}
	if waitsForTarget(d) && o.ReadyAt.After(at) {
		at = o.ReadyAt
	}
	return at
}

// hint says what a person can do, or what the state does not say by itself.
func hint(a Article, d Delivery, o Outlook, now time.Time) string {
	if a.Hold != nil && d.State == Queued && d.Attempts == 0 {
		return fmt.Sprintf("held (%s): %s; `herald approve %s` releases it, `herald cancel %s` drops it", a.Hold.Reason, a.Hold.Message, a.ID, a.ID)
	}
	at := d.Article
	switch d.State {
	case Published:
		switch {
		case d.Error != nil && d.Error.Code == CodeGone:
			return fmt.Sprintf("`herald republish %s --target %s` makes a new post, `herald cancel %s --target %s` accepts it", at, d.Target, at, d.Target)
		case d.Error != nil && d.Error.Code == CodeTwins:
			return fmt.Sprintf("remove the surplus by hand, then `herald cancel %s --target %s` settles it; remove_twins: true removes it by itself", at, d.Target)
		case d.Error != nil && d.Error.Code == CodeChanged:
			return fmt.Sprintf("`herald cancel %s --target %s` accepts it; an edited article that is dropped writes over it", at, d.Target)
		case a.Backward != nil && !o.CanWithdraw:
			return "the article was taken back, but this platform cannot take a post back: it stays"
		case d.Error != nil && d.Outdated():
			return fmt.Sprintf("the platform still has revision %d: the update failed; `herald retry %s --target %s` tries it again", d.Landed, at, d.Target)
		case d.Outdated():
			return fmt.Sprintf("changed, not republished: the platform has revision %d of %d; `herald republish %s --target %s` makes a new post", d.Landed, d.Revision, at, d.Target)
		}
		return d.Receipt.Note
	case Rejected:
		return fmt.Sprintf("edit the article and drop it again, or `herald retry %s --target %s`, or `herald cancel %s --target %s`", at, d.Target, at, d.Target)
	case Failed:
		return fmt.Sprintf("`herald retry %s --target %s` tries again, `herald cancel %s --target %s` gives up", at, d.Target, at, d.Target)
	case Stuck:
		return fmt.Sprintf("could not be withdrawn; remove it by hand, then `herald resolve %s %s --missing`", at, d.Target)
	case Uncertain:
		if d.Due.IsZero() {
			return fmt.Sprintf("look on the platform for %q, sent at %s; then `herald resolve %s %s --published URL` or `--missing`",
				a.Title, d.LastBegun.In(now.Location()).Format("2006-01-02 15:04:05"), at, d.Target)
		}
		return "sent, but the answer was lost: looking it up before anything else"
	case Canceled, Withdrawn:
		return ""
	}
	switch {
	case d.Waits == WaitsCheck:
		return "its quality is being checked"
	case d.Waits == WaitsOthers:
		return "all_or_nothing: this platform cannot take a post back, so it comes last, once all others are published"
	case d.Wish == WishRepublish:
		return "will be published again once it is taken back"
	case d.Wish != "":
		return fmt.Sprintf("will %s once the outcome is known", d.Wish)
	case o.Hold.Active(now) && o.Hold.ForPerson:
		return fmt.Sprintf("target %s is held: mend its credential or permission, then `herald retry --target %s`; it is also probed by itself", d.Target, d.Target)
	case o.Hold.Keeps(ClassOf(d.State), now):
		return fmt.Sprintf("target %s is held by its rate limit; it goes on by itself", d.Target)
	case o.OpenUntil.After(now) && waitsForTarget(d):
		return fmt.Sprintf("the breaker of %s is open after repeated failures; it goes on by itself", d.Target)
	}
	return ""
}

func timePtr(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
