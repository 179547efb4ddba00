package degrade

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"herald/article"
)

// Judge gives a verdict on an article. It never fails and ends within the
// deadline: what cannot be judged by much is judged by less. A canceled ctx ends
// it at once, with what is known.
func (j *Judge) Judge(ctx context.Context, a *article.Article, s Subject) Verdict {
	src := parse(a)
	v := Verdict{By: ByBasic, Pass: true, At: s.Now, Findings: j.findings(src, s)}
	for _, f := range v.Findings {
		v.Pass = v.Pass && !f.Holds()
	}
	// An article that is held anyway is not worth a service's time; it will be
	// edited, and judged then.
	if v.Pass && len(j.providers) > 0 {
		j.climb(ctx, src, s, &v)
	}
	v.Details = j.sentences(v)
	return v
}

// climb goes down the ladder until a rung gives a score. Below the last one v
// stays what the basic check made it.
func (j *Judge) climb(ctx context.Context, src *source, s Subject, v *Verdict) {
	ctx, cancel := context.WithTimeout(ctx, j.o.Deadline)
	defer cancel()
	in := j.instructions(src)
	var reasons []string
	for i, p := range j.providers {
		key := cacheKey(src.article.Hash, p.Model, in.system())
		if known, ok := j.known(key); ok {
			v.take(known, ByCache, j.o.PassScore)
			break
		}
		got, err := p.judge(ctx, len(j.providers)-i, src, in)
		if err == nil {
			scored := Verdict{Score: &got.score, Opinion: got.details, Issues: got.issues, Provider: p.name, Model: p.Model, At: s.Now}
			j.keep(key, scored)
			j.keep(cacheKey(src.article.Hash), scored)
			v.take(scored, ByAI, j.o.PassScore)
			break
		}
		reason := p.why(err)
		j.o.Log.Warn("no verdict from the quality service", "provider", p.name, "model", p.Model, "reason", reason)
		reasons = append(reasons, reason)
		if errors.Is(ctx.Err(), context.Canceled) {
			reasons = append(reasons, "the check was interrupted")
			break
		}
	}
	v.Reason = strings.Join(reasons, "; ")
	if v.Score != nil {
		return
	}
	v.Degraded = true
	if known, ok := j.known(cacheKey(src.article.Hash)); ok {
		v.take(known, ByCache, j.o.PassScore)
	} else if p := s.Previous; p != nil && p.Score != nil {
		v.take(*p, ByCache, 0) // the edit may have been the remedy
		v.Stale = true
	}
}

// take makes v the verdict that was given by a service.
func (v *Verdict) take(from Verdict, by By, passScore float64) {
	v.By, v.Score, v.Opinion, v.Issues = by, from.Score, from.Opinion, from.Issues
	v.Provider, v.Model, v.At = from.Provider, from.Model, from.At
	v.Pass = v.Pass && *from.Score >= passScore
}

// known returns what the cache holds, if it has a score.
func (j *Judge) known(key string) (Verdict, bool) {
	if j.o.Cache == nil || key == "" {
		return Verdict{}, false
	}
	v, ok := j.o.Cache.Get(key)
	return v, ok && v.Score != nil
}

func (j *Judge) keep(key string, v Verdict) {
	if j.o.Cache != nil && key != "" {
		j.o.Cache.Put(key, v)
	}
}

// cacheKey names a verdict on content, by a model and instructions, or the
// newest one by any. Content that has no hash has no key.
func cacheKey(content string, by ...string) string {
	if content == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{content}, by...), "\x00")))
	return hex.EncodeToString(sum[:])
}

// sentences says in words what the verdict is and rests on.
func (j *Judge) sentences(v Verdict) string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	warnings := 0
	for _, f := range v.Findings {
		if f.Holds() {
			add("%s.", f)
		} else {
			warnings++
		}
	}
	if v.Degraded {
		add("The AI check gave no verdict: %s.", v.Reason)
	}
	switch {
	case v.Stale:
		add("An earlier revision scored %.2f on %s; the basic check decides.", *v.Score, v.At.Format(time.DateOnly))
	case v.Degraded && v.By == ByCache:
		add("The verdict of %s on the same text counts.", v.At.Format(time.DateOnly))
	case v.Degraded:
		add("The basic check decides.")
	}
	if v.Score != nil && !v.Pass {
		add("The score %.2f is below %.2f.", *v.Score, j.o.PassScore)
	}
	if v.Opinion != "" {
		add("%s", v.Opinion)
	}
	if !v.Pass {
		for _, issue := range v.Issues {
			add("%s", issue)
		}
	}
	if warnings > 0 && v.Score == nil {
		add("%s; herald check names them.", count(warnings, "warning"))
	}
	return strings.Join(all, " ")
}

// String is the issue in one sentence.
func (i Issue) String() string {
	s := i.Problem
	if i.Passage != "" {
		s = fmt.Sprintf("“%s”: %s", i.Passage, i.Problem)
	}
	if i.Suggestion != "" {
		s += " (" + i.Suggestion + ")"
	}
	return s
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Well reports whether at least one provider can be used, by a call that costs
// little; nil says so. Its error says for each one why not.
func (j *Judge) Well(ctx context.Context) error {
	if len(j.providers) == 0 {
		return errors.New("no provider is configured")
	}
	ctx, cancel := context.WithTimeout(ctx, j.o.Deadline)
	defer cancel()
	var errs []error
	for i, p := range j.providers {
		err := p.well(ctx, len(j.providers)-i)
		if err == nil {
			return nil
		}
		errs = append(errs, errors.New(p.why(err)))
	}
	return errors.Join(errs...)
}
