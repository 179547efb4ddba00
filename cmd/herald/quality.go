package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"herald/article"
	"herald/compensate"
	"herald/degrade"
	"herald/internal/config"
	"herald/platforms"
	"herald/publisher"
	"herald/state"
)

// quality joins the judge to the driver: what a verdict leads to is decided here.
type quality struct {
	cfg     config.Quality
	options degrade.Options
	judges  *degrade.Judge
	driver  *compensate.Driver
	targets []*publisher.Target
	count   func(state.Quality) // of every verdict
	log     *slog.Logger
}

const (
	// recheckFor is how long after its admission a degraded article is checked
	// again.
	recheckFor = 72 * time.Hour
	// leastRecheck keeps a degraded article from being asked about in a row.
	leastRecheck = time.Second
)

// newQuality reads what the configuration names for the quality check.
func newQuality(cfg *config.Config, log *slog.Logger) (*quality, error) {
	c := cfg.Quality
	q := &quality{cfg: c, log: log, count: func(state.Quality) {}, options: degrade.Options{PassScore: c.PassScore, Timeout: c.Timeout, Deadline: c.Deadline, Log: log}}
	for _, p := range c.Providers {
		q.options.Providers = append(q.options.Providers, degrade.Provider{
			BaseURL: p.BaseURL, APIKey: p.APIKey, Model: p.Model, Timeout: p.Timeout, JSON: degrade.JSONMode(p.JSONMode),
			MaxTokens: p.MaxTokens, MaxChars: p.MaxChars, Headers: p.Headers, Extra: p.Extra,
		})
	}
	if c.PromptFile != "" {
		prompt, err := os.ReadFile(c.PromptFile)
		if err != nil {
			return nil, fmt.Errorf("read quality.prompt_file: %w", err)
		}
		q.options.Prompt = string(prompt)
	}
	if c.Words != "" {
		f, err := os.Open(c.Words)
		if err != nil {
			return nil, fmt.Errorf("read quality.words: %w", err)
		}
		defer f.Close()
		if q.options.Words, err = degrade.ReadWords(f, c.Words); err != nil {
			return nil, fmt.Errorf("read quality.words: %w", err)
		}
	}
	var err error
	if q.judges, err = degrade.New(q.options); err != nil {
		return nil, fmt.Errorf("quality: %w", err)
	}
	return q, nil
}

// asks reports whether a service is asked, so that articles wait for its verdict.
func (q *quality) asks() bool { return len(q.options.Providers) > 0 }

// on joins the judge to a store: kept verdicts, and the articles to compare with.
func (q *quality) on(driver *compensate.Driver, store state.Store, targets []*publisher.Target) (err error) {
	q.driver, q.targets = driver, targets
	q.options.Cache = verdicts{store, q.log}
	q.options.Recent = q.recent
	if q.judges, err = degrade.New(q.options); err != nil {
		return fmt.Errorf("quality: %w", err)
	}
	return nil
}

func (q *quality) recent(since time.Time) (earlier []degrade.Earlier) {
	articles, err := q.driver.Recent(since)
	if err != nil {
		q.log.Warn("near duplicates are not looked for", "error", err)
	}
	for _, a := range articles {
		earlier = append(earlier, degrade.Earlier{ID: string(a.ID), Title: a.Title, Simhash: a.Simhash, At: a.AcceptedAt})
	}
	return earlier
}

// subject is what is known of an article beside itself, and the posts that it
// would become, by target.
func (q *quality) subject(src *article.Article, now time.Time) (degrade.Subject, map[string]platforms.Post) {
	s, posts := degrade.Subject{Off: src.ChecksOff, Now: now}, map[string]platforms.Post{}
	for _, t := range q.targets {
		if src.Platforms != nil && !slices.Contains(src.Platforms, t.Name) {
			continue
		}
		post, fault := compensate.Render(t, src, state.Delivery{Article: state.ArticleID(src.ID), Target: t.Name, Generation: 1}, 1)
		r := degrade.Rendering{Target: t.Name, Warnings: post.Warnings}
		if fault != nil {
			r.Err = fault
		} else {
			posts[t.Name] = post
		}
		s.Renderings = append(s.Renderings, r)
	}
	return s, posts
}

// check is the verdict at the door, where no service is configured.
func (q *quality) check(src *article.Article) *state.Quality {
	if q.asks() {
		return nil
	}
	subject, _ := q.subject(src, time.Now())
	v := record(q.judges.Judge(context.Background(), src, subject))
	q.count(v)
	return &v
}

// judge is the verdict of a service, or of less where none is well.
func (q *quality) judge(ctx context.Context, a state.Article, src *article.Article) compensate.Checked {
	now := time.Now()
	again := func() time.Time {
		if q.cfg.Recheck <= 0 || now.Sub(a.AcceptedAt) > recheckFor {
			return time.Time{}
		}
		return now.Add(max(q.cfg.Recheck, leastRecheck))
	}
	old := a.Quality
	if old != nil && old.Degraded && old.At.After(a.AcceptedAt) {
		if err := q.judges.Well(ctx); err != nil { // no article is spent on asking
			return compensate.Checked{Quality: *old, Again: again()}
		}
	}
	s, _ := q.subject(src, now)
	if old != nil && old.Score != nil {
		s.Previous = &degrade.Verdict{By: degrade.By(old.By), Pass: old.Pass, Score: old.Score, Details: old.Details, Model: old.Model, At: old.At}
	}
	v := q.judges.Judge(ctx, src, s)
	c := compensate.Checked{Quality: record(v)}
	q.count(c.Quality)
	switch {
	case !v.Pass:
		c.Hold = &state.ArticleHold{Reason: state.HeldQuality, Message: v.Details, At: now}
	case v.Degraded && q.cfg.OnDegraded == config.HoldDegraded:
		c.Hold = &state.ArticleHold{Reason: state.HeldQuality, Message: v.Details, At: now}
	}
	if v.Degraded {
		c.Again = again()
	}
	return c
}

// record is a verdict as the store keeps it.
func record(v degrade.Verdict) state.Quality {
	q := state.Quality{
		By: string(v.By), Pass: v.Pass, Score: v.Score, Degraded: v.Degraded, Details: v.Details,
		Stale: v.Stale, Model: v.Model, Reason: v.Reason, At: v.At,
	}
	for _, i := range v.Issues {
		line := i.Problem
		if i.Passage != "" {
			line = fmt.Sprintf("%q: %s", i.Passage, line)
		}
		q.Issues = append(q.Issues, strings.TrimSuffix(line+"; "+i.Suggestion, "; "))
	}
	for _, f := range v.Findings {
		q.Findings = append(q.Findings, f.String())
	}
	return q
}

// verdicts keeps the verdicts of services in the store.
type verdicts struct {
	store state.Store
	log   *slog.Logger
}

func (c verdicts) Get(key string) (v degrade.Verdict, ok bool) {
	var raw []byte
	err := c.store.View(func(r state.Reader) (err error) {
		raw, ok, err = r.Verdict(key)
		return err
	})
	if err == nil && ok {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		c.log.Warn("kept verdict cannot be read", "error", err)
	}
	return v, ok && err == nil
}

func (c verdicts) Put(key string, v degrade.Verdict) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = c.store.Update(func(tx state.Tx) error { return tx.PutVerdict(key, raw) })
	}
	if err != nil {
		c.log.Warn("verdict cannot be kept", "error", err)
	}
}
