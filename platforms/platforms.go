// Package platforms is the vocabulary between herald and the places it
// publishes to: what a platform can do, what it answers, and what each kind of
// failure means. It knows no platform by name, makes no call and keeps no
// state; the adapters live in the folders below it.
package platforms

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"herald/article"
)

// Platform is one configured account on one publishing platform. The two
// methods are compulsory; what else a platform can do is said by the one-method
// interfaces below, found by type assertion.
type Platform interface {
	// Render puts an article into the platform's own form. It is pure (no
	// network, same input same output) and refuses what is over a limit with an
	// [Error] of kind [Rejected] that names the limit.
	Render(a *article.Article) (Post, error)
	// Publish makes the post appear. It is called again, with the same Memo,
	// after a failure that is known to have left nothing behind, and after a
	// look-up that found the post half done; it then resumes from the Memo. An
	// error is an [Error]; its kind alone says what may have happened.
	Publish(ctx context.Context, p Post, m Memo) (Receipt, error)
}

// Finder looks a post up whose outcome is not known. Absence is a value, not an
// error. It adopts only what is newer than since and carries this post's mark.
type Finder interface {
	Find(ctx context.Context, p Post, since time.Time, m Memo) (Found, error)
}

// Reviewer asks how an accepted post is doing. The receipt stays Pending while
// the platform has not decided.
type Reviewer interface {
	Review(ctx context.Context, r Receipt) (Receipt, error)
}

// Withdrawer takes a published post back. "Already gone" is success.
type Withdrawer interface {
	Withdraw(ctx context.Context, r Receipt) error
}

// Updater changes a published post in place. It is idempotent: after a crash it
// is simply called again.
type Updater interface {
	Update(ctx context.Context, p Post, r Receipt, m Memo) (Receipt, error)
}

// Prober makes one cheap read that fails if the account cannot be used.
type Prober interface {
	Probe(ctx context.Context) error
}

// Accounter names the credential behind a target. Targets that answer with the
// same name share their pace and their holds. A platform without it is an
// account of its own.
type Accounter interface {
	Account() string
}

// Post is one article in one platform's form, ready to send.
type Post struct {
	// Key is the idempotency key of (article, target, generation): 32 hex
	// digits. Revision counts the content from 1. The driver sets both after
	// Render; they are the same on every attempt, also after a restart.
	Key      string `json:"key"`
	Revision int    `json:"revision"`

	Slug         string          `json:"slug"` // the article's identity, safe in a path
	Title        string          `json:"title"`
	Author       string          `json:"author,omitempty"`
	Summary      string          `json:"summary,omitempty"`
	Tags         []string        `json:"tags,omitempty"`
	CanonicalURL string          `json:"canonical_url,omitempty"`
	Date         time.Time       `json:"date"`         // in the configured zone
	ContentType  string          `json:"content_type"` // of Body: text/html, text/markdown, text/plain
	Body         string          `json:"body"`
	Images       []article.Image `json:"images,omitempty"` // in order of appearance, each once
	Cover        *article.Image  `json:"cover,omitempty"`
	Warnings     []string        `json:"warnings,omitempty"` // what was cut or cleaned, for `herald check`
	// Options are the article's own settings for this platform, as the adapter's
	// Render has checked them.
	Options map[string]string `json:"options,omitempty"`
}

// Receipt says where a post is.
type Receipt struct {
	// ID is the platform's own id. An empty one after a success means that the
	// post cannot be recognised again: such a success is Uncertain.
	ID string `json:"id"`
	// URL is where readers find the post; empty if there is no such place.
	URL string `json:"url,omitempty"`
	// Pending is true while the platform has accepted but not yet shown it.
	Pending bool `json:"pending,omitempty"`
	// Note is said to people beside the state: "draft", for instance.
	Note string `json:"note,omitempty"`
	// Mark is the adapter's own, for the calls that get no Post: what the post is
	// recognised by. It is not shown to people.
	Mark string `json:"mark,omitempty"`
}

// Outcome is what a look-up found.
type Outcome int

// The outcomes of a look-up.
const (
	Absent  Outcome = iota // nothing there
	Present                // it is there: adopt the receipt
	Partial                // half done: the Memo was advanced, Publish resumes
)

// Found is the answer of a look-up; Receipt is set when Present.
type Found struct {
	Outcome Outcome
	Receipt Receipt
	// Twins are further posts with this post's mark, where the look-up sees them:
	// copies that should not be there.
	Twins []Receipt
	// Changed says how somebody else has changed the post, where the look-up can
	// tell; empty: nobody has, or it cannot.
	Changed string
}

// Memo is the durable notepad of one delivery: image by content hash → media
// id, draft id, publish id. What Set stored is on disk when Set returns, so a
// crash between two calls resumes behind the first. Keys that begin with
// [MediaKey] survive a republish; all others belong to one generation.
type Memo interface {
	Get(key string) (value string, ok bool)
	Set(key, value string) error
}

// MediaKey is the prefix of Memo keys that hold uploaded media.
const MediaKey = "media/"

// Env is what a constructor gets beside its own configuration.
type Env struct {
	// Target is the configured name of the account.
	Target string
	// Dir is a private folder of this target below the data directory. It is
	// not created beforehand.
	Dir string
	// Base is the folder that relative paths of the configuration start from.
	Base string
	// Location is the configured time zone.
	Location *time.Location
	// Log is never nil and already names the target.
	Log *slog.Logger
	// Transport replaces the network in tests; nil means the real one.
	Transport http.RoundTripper
}

// Advice is what a platform's contract says about being called, used wherever
// the configuration says nothing. Zero fields give no advice.
type Advice struct {
	// Pace is the least time between two calls; negative means no pacing.
	Pace time.Duration
	// Timeout of one call.
	Timeout time.Duration
	// AbsentAfter is how long after the first attempt an absent post is
	// believed to be absent; negative means at once (the look-up is exact).
	AbsentAfter time.Duration
	// AbsentTimes is how many look-ups in a row must find nothing.
	AbsentTimes int
}
