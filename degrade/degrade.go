// Package degrade judges an article before its first delivery and never blocks
// it by being unwell. An AI service judges what reads well and may be true; when
// none answers, an earlier verdict stands in, and at the end of the ladder the
// basic check decides alone. The verdict says by what it was given and why.
//
// It publishes, holds and stores nothing, and owns no timer: what a verdict
// leads to, keeping it, and asking again later is its caller's. It counts no
// platform's limits: those are the adapters' Render, whose refusals it is told.
package degrade

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"herald/article"
)

// By says what gave a verdict.
type By string

// The rungs of the ladder.
const (
	ByAI    By = "ai"    // a service, for this content
	ByCache By = "cache" // an earlier verdict of a service
	ByBasic By = "basic" // the check by rules alone
)

// Verdict is the judgement on one article.
type Verdict struct {
	By By `json:"by"`
	// Pass is false if the article should be held: a finding holds it, or its
	// score is below the pass score. A stale score holds nothing.
	Pass  bool     `json:"pass"`
	Score *float64 `json:"score"` // 0 to 1; nil where nothing scored it
	// Degraded says that services were asked and none gave a verdict.
	Degraded bool `json:"degraded"`
	// Stale says that the score is of an earlier revision.
	Stale bool `json:"stale,omitempty"`
	// Details are plain sentences for people: why it is held, what the service
	// says, what was unwell. No secret is in them.
	Details string `json:"details"`
	// Issues are the service's, Findings the basic check's.
	Issues   []Issue   `json:"issues,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	// Provider is the service that gave the score, Model its model.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Opinion is what the service said, without the sentences around it.
	Opinion string `json:"opinion,omitempty"`
	// Reason says what failed on the way to this verdict; empty if nothing did.
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"` // when the score was given, else when the check was made
}

// Issue is one thing that a service finds wrong.
type Issue struct {
	Passage    string `json:"passage,omitempty"`
	Problem    string `json:"problem"`
	Suggestion string `json:"suggestion,omitempty"`
}

// Cache keeps the verdicts of services. It is safe for concurrent use. A Get
// that cannot be answered is a miss.
type Cache interface {
	Get(key string) (Verdict, bool)
	Put(key string, v Verdict)
}

// Subject is what is known of an article beside itself.
type Subject struct {
	// Renderings are what the adapters of its targets made of it.
	Renderings []Rendering
	// Previous is the verdict on an earlier revision; nil if there is none.
	Previous *Verdict
	// Off are rules not to apply. What can hold an article stays in force.
	Off []string
	Now time.Time
}

// Rendering is what one target's Render said.
type Rendering struct {
	Target   string
	Err      error    // a refusal: it rejects this one delivery
	Warnings []string // what was cut or cleaned
}

// Options is what a Judge is made of. Without Providers it makes the basic check
// alone, and its verdicts are not degraded.
type Options struct {
	Providers []Provider // asked in this order
	PassScore float64    // 0 to 1; a score from here on passes
	// Timeout bounds one call, Deadline a whole verdict; 0 is 30 s and 60 s.
	Timeout, Deadline time.Duration
	// Prompt replaces the built-in instructions, which come in Chinese and
	// English. How to answer, and that the article is data, is added to it.
	Prompt string
	Words  []Word
	// Recent returns the articles taken since then; nil looks for no duplicates.
	// It and Cache answer at once: the deadline does not bound them.
	Recent func(since time.Time) []Earlier
	Cache  Cache // nil keeps nothing
	// Failures in a row after which a provider is left alone; 0 is 3. It is
	// tried again after OpenFor, 0 is one minute, by a call that costs little.
	Failures int
	OpenFor  time.Duration
	// Transport replaces the network in tests; nil means the real one.
	Transport http.RoundTripper
	Log       *slog.Logger // nil discards
}

// Judge judges articles. It is safe for concurrent use; there is one, since it
// remembers which providers are unwell.
type Judge struct {
	o         Options
	providers []*provider
	words     *wordList
}

const (
	defaultTimeout  = 30 * time.Second
	defaultDeadline = 60 * time.Second
	defaultFailures = 3
	defaultOpenFor  = time.Minute
)

// New returns a Judge, or what is wrong with a provider or the word list.
func New(o Options) (*Judge, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	orDefault(&o.Timeout, defaultTimeout)
	orDefault(&o.Deadline, defaultDeadline)
	orDefault(&o.Failures, defaultFailures)
	orDefault(&o.OpenFor, defaultOpenFor)
	j := &Judge{o: o}
	for i, p := range o.Providers {
		made, err := newProvider(p, o)
		if err != nil {
			return nil, fmt.Errorf("provider %d: %w", i+1, err)
		}
		j.providers = append(j.providers, made)
	}
	var err error
	if j.words, err = newWordList(o.Words); err != nil {
		return nil, fmt.Errorf("word list: %w", err)
	}
	return j, nil
}

func orDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

// Check judges an article by rules alone, without a word list, renderings or
// earlier articles.
func Check(a *article.Article) Verdict {
	return new(Judge).Judge(context.Background(), a, Subject{})
}

// Check returns what the rules find in an article, in the order of its lines.
func (j *Judge) Check(a *article.Article, s Subject) []Finding {
	return j.findings(parse(a), s)
}
