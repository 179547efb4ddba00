// Package state is herald's memory: what an article is, where each of its
// deliveries stands, which moves a delivery may make, and the bbolt file that
// keeps all of it. It decides nothing about platforms and makes no call; what
// an answer means is package compensate's to say.
package state

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"herald/article"
	"herald/platforms"
)

// ArticleID is an article's identity: the front matter's id, or the slug of the
// file's name.
type ArticleID string

// Key names one delivery: one article on one target.
type Key struct {
	Article ArticleID
	Target  string
}

// String returns "article → target", for logs and errors.
func (k Key) String() string { return fmt.Sprintf("%s → %s", k.Article, k.Target) }

// HoldReason says why an article waits for a person before anything is sent.
type HoldReason string

// The reasons an article is held.
const (
	HeldDraft     HoldReason = "draft"
	HeldDuplicate HoldReason = "duplicate"
	HeldLate      HoldReason = "late"
	HeldQuality   HoldReason = "quality"
)

// ArticleHold keeps an article from being published until it is approved.
type ArticleHold struct {
	Reason  HoldReason `json:"reason"`
	Message string     `json:"message"`
	At      time.Time  `json:"at"`
}

// Quality is the verdict of the quality check.
type Quality struct {
	By       string   `json:"by"` // "ai", "cache" or "basic"
	Pass     bool     `json:"pass"`
	Score    *float64 `json:"score"` // 0 to 1; nil where nothing scored it
	Degraded bool     `json:"degraded"`
	Details  string   `json:"details"`
	// Stale says that the score is of an earlier revision.
	Stale bool `json:"stale,omitempty"`
	// Issues and Findings are what the service and the rules found, a line each.
	Issues   []string `json:"issues,omitempty"`
	Findings []string `json:"findings,omitempty"`
	Model    string   `json:"model,omitempty"` // that gave the score
	// Reason says what was unwell on the way to this verdict.
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// Article is the record of one article. Its state is not stored: it is the fold
// of its deliveries, see [Summarize].
type Article struct {
	ID          ArticleID `json:"id"`
	Title       string    `json:"title"`
	Revision    int       `json:"revision"` // counts the content from 1
	Hash        string    `json:"hash"`
	Fingerprint string    `json:"fingerprint"`
	// Simhash differs in few bits for texts that differ in few words; 0: too short
	// to compare.
	Simhash uint64 `json:"simhash,omitempty"`
	// Sources are the Markdown files of revision 1, 2, …, relative to the queue
	// folder.
	Sources     []string            `json:"sources"`
	AcceptedAt  time.Time           `json:"accepted_at"`
	PublishAt   time.Time           `json:"publish_at,omitzero"` // zero: at once
	SkipIfLate  time.Duration       `json:"skip_if_late,omitempty"`
	Late        time.Duration       `json:"late,omitempty"` // how long after PublishAt the first call began
	Consistency article.Consistency `json:"consistency,omitempty"`
	Targets     []string            `json:"targets"` // every delivery's target, in the order they were added
	Approved    []HoldReason        `json:"approved,omitempty"`
	Hold        *ArticleHold        `json:"hold,omitempty"`
	// Backward is set while an all-or-nothing article is being taken back.
	Backward *Backward `json:"backward,omitempty"`
	Quality  *Quality  `json:"quality,omitempty"`
	// CheckDue is when its quality is to be checked, or checked again; zero if
	// not at all.
	CheckDue time.Time `json:"check_due,omitzero"`
	Notes    []string  `json:"notes,omitempty"`
	Version  uint64    `json:"version"`
}

// Backward says why an all-or-nothing article is taken back.
type Backward struct {
	Target string    `json:"target"` // the one that can never have it
	Why    string    `json:"why"`
	At     time.Time `json:"at"`
}

// Notice is something that a person is told, once.
type Notice struct {
	ID      uint64    `json:"id"` // counts up
	At      time.Time `json:"at"`
	Event   string    `json:"event"` // needs_person, target_held, recovered
	Article ArticleID `json:"article,omitempty"`
	Title   string    `json:"title,omitempty"`
	Target  string    `json:"target,omitempty"`
	State   State     `json:"state,omitempty"`
	Kind    string    `json:"kind,omitempty"`
	Code    string    `json:"code,omitempty"`
	Message string    `json:"message"`
	Hint    string    `json:"hint,omitempty"`
}

// The events of notices.
const (
	NeedsPerson = "needs_person"
	TargetHeld  = "target_held"
	Recovered   = "recovered"
)

// IsApproved reports whether a person has already let this reason pass.
func (a *Article) IsApproved(r HoldReason) bool { return slices.Contains(a.Approved, r) }

// Failure is the last error of a delivery.
type Failure struct {
	Kind    platforms.Kind `json:"kind"`
	Op      string         `json:"op,omitempty"`
	Code    string         `json:"code,omitempty"`
	Message string         `json:"message"`
	At      time.Time      `json:"at"`
}

// The codes of what is found when a published post is read again.
const (
	CodeGone    = "gone"    // it is not there any more
	CodeTwins   = "twins"   // it is there more than once
	CodeChanged = "changed" // somebody has changed it on the platform
)

// Waits is what a delivery waits for before its first attempt, other than time.
type Waits string

// What a delivery may wait for.
const (
	// WaitsCheck: the quality check of its article.
	WaitsCheck Waits = "check"
	// WaitsOthers: every other delivery of its all-or-nothing article, since this
	// one could not be taken back.
	WaitsOthers Waits = "others"
)

// Wish is what was asked for while the outcome of a call was open, or while the
// post was being taken back. It is applied once that has ended.
type Wish string

// The wishes.
const (
	WishCancel   Wish = "cancel"
	WishWithdraw Wish = "withdraw"
	// WishRepublish is that of an article that goes forward again while its post
	// is being taken back.
	WishRepublish Wish = "republish"
)

// Doubt is why the outcome of a call is open. It decides what absence means.
type Doubt string

// The doubts.
const (
	DoubtLost    Doubt = "lost"    // sent, and the answer is lost
	DoubtCrash   Doubt = "crash"   // herald ended during the call
	DoubtNoID    Doubt = "no_id"   // accepted without an id: never sent again
	DoubtExists  Doubt = "exists"  // the platform says that it already has it
	DoubtUnknown Doubt = "unknown" // a code that is in no table
)

// Delivery is one article on one target: a durable record with a state.
type Delivery struct {
	Article ArticleID `json:"article"`
	Target  string    `json:"target"`
	Type    string    `json:"type"`
	State   State     `json:"state"`
	// Version counts the saves; a save against an older one is a conflict.
	Version uint64 `json:"version"`
	// Generation counts the deliberate republications from 1.
	Generation int `json:"generation"`
	// Revision is the content that is wanted, Sent the one that the last call
	// carried, Landed the one that the platform has (0: none).
	Revision int `json:"revision"`
	Sent     int `json:"sent,omitempty"`
	Landed   int `json:"landed,omitempty"`
	// Attempts counts the calls begun in this generation; Spent those that count
	// against the limit since the last time a person asked for a retry.
	Attempts int `json:"attempts"`
	Spent    int `json:"spent,omitempty"`
	// Due is when the next step is to be made; zero when there is none, or when
	// it waits for a person.
	Due time.Time `json:"due,omitzero"`
	// Since is when the give-up clock began, and HeldBefore how long the account
	// had been held until then: time held does not count.
	Since      time.Time     `json:"since"`
	HeldBefore time.Duration `json:"held_before,omitempty"`
	// Begun is when the first attempt of this generation began, LastBegun the
	// latest.
	Begun     time.Time `json:"begun,omitzero"`
	LastBegun time.Time `json:"last_begun,omitzero"`
	// Doubt is why the outcome is open; LookUps counts the look-ups since, and
	// Absences those in a row that found nothing.
	Doubt    Doubt `json:"doubt,omitempty"`
	LookUps  int   `json:"look_ups,omitempty"`
	Absences int   `json:"absences,omitempty"`
	// Losses counts the calls of this generation whose answer was lost: copies may
	// exist that nobody knows of.
	Losses int `json:"losses,omitempty"`
	// Accepted is when the platform took the post for review, Polls how often it
	// was asked since.
	Accepted    time.Time         `json:"accepted,omitzero"`
	Polls       int               `json:"polls,omitempty"`
	Receipt     platforms.Receipt `json:"receipt,omitzero"`
	PublishedAt time.Time         `json:"published_at,omitzero"`
	Error       *Failure          `json:"error,omitempty"`
	// ObservedAt is when the published post was last read again.
	ObservedAt time.Time `json:"observed_at,omitzero"`
	// Waits is what it waits for before its first attempt.
	Waits Waits `json:"waits,omitempty"`
	// Told says that a person was told that the delivery needs one.
	Told bool `json:"told,omitempty"`
	Wish Wish `json:"wish,omitempty"`
	// Dismissed is what a person has accepted of a published post: it is not told
	// again.
	Dismissed string  `json:"dismissed,omitempty"`
	History   []Entry `json:"history,omitempty"`
}

// Key returns the delivery's name.
func (d *Delivery) Key() Key { return Key{d.Article, d.Target} }

// IdempotencyKey returns the key of (article, target, generation): 32 hex
// digits, the same on every attempt and after every restart.
func (d *Delivery) IdempotencyKey() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", d.Article, d.Target, d.Generation))
	return hex.EncodeToString(sum[:16])
}

// Outdated reports whether the platform has an older revision than is wanted.
func (d *Delivery) Outdated() bool { return d.Landed > 0 && d.Landed < d.Revision }

// Closed reports whether nothing is left to do and nobody has to look.
func (d *Delivery) Closed() bool {
	switch d.State {
	case Published:
		return d.Error == nil
	case Withdrawn, Canceled:
		return true
	}
	return false
}

// Hold keeps an account from being called, for a time or until a person has
// mended its credential. It survives a restart. A Hold without a Kind holds
// nothing and only remembers Total.
type Hold struct {
	Account string         `json:"account"`
	Kind    platforms.Kind `json:"kind,omitempty"`
	Op      string         `json:"op,omitempty"`
	Code    string         `json:"code,omitempty"`
	Message string         `json:"message,omitempty"`
	Since   time.Time      `json:"since,omitzero"`
	// Until is the end of the hold, or, for a person's, the next probe.
	Until time.Time `json:"until,omitzero"`
	// ForPerson holds do not end by time.
	ForPerson bool `json:"for_person,omitempty"`
	// Level counts the holds in a row; it doubles the next one.
	Level int `json:"level,omitempty"`
	// Broken says that the thing between herald and the platform is broken. It
	// holds nothing; it is there so that people are told once.
	Broken bool `json:"broken,omitempty"`
	// Total is how long earlier holds of this account lasted, all together.
	Total time.Duration `json:"total,omitempty"`
}

// Active reports whether the account may not be called at now.
func (h Hold) Active(now time.Time) bool {
	return h.Kind != "" && (h.ForPerson || now.Before(h.Until))
}

// Keeps reports whether the hold keeps a step of the class back. A hold that ends
// by time keeps back what changes something; look-ups and polls have waits of
// their own, and may be what ends it. A refused credential keeps back everything.
func (h Hold) Keeps(c Class, now time.Time) bool {
	return h.Active(now) && (h.ForPerson || c == Changing)
}

// Held returns how long the account has been held in all its life, at now.
func (h Hold) Held(now time.Time) time.Duration {
	if h.Kind == "" {
		return h.Total
	}
	end := now
	if !h.ForPerson && h.Until.Before(now) {
		end = h.Until
	}
	return h.Total + max(0, end.Sub(h.Since))
}

// Clear returns the hold lifted at now, with its time added to Total.
func (h Hold) Clear(now time.Time) Hold {
	return Hold{Account: h.Account, Total: h.Held(now)}
}

// The errors of a store. Ask with errors.Is.
var (
	// ErrConflict says that the record was saved by someone else since it was read.
	ErrConflict = errors.New("record has changed since it was read")
	// ErrNotFound says that there is no such record.
	ErrNotFound = errors.New("no such record")
	// ErrLocked says that another process has the store open.
	ErrLocked = errors.New("store is in use by another process")
	// ErrDamaged says that the file is there but is not a readable store.
	ErrDamaged = errors.New("store file is damaged")
)
