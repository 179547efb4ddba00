package config

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a zone is known on an image without zone files too
)

// maxSocket is the longest path in bytes that a Unix socket can have: 103 on
// macOS and the BSDs, 107 on Linux.
const maxSocket = 103

// minChars is the shortest part of an article that a service can judge.
const minChars = 500

// resolve puts paths and the zone into their final form and checks the global
// values.
func (l *loader) resolve(cfg *Config) {
	builtin := defaultConfig()
	cfg.DataDir = l.path(or(cfg.DataDir, builtin.DataDir))
	cfg.Queue.Dir = l.path(or(cfg.Queue.Dir, filepath.Join(cfg.DataDir, "queue")))
	cfg.Control.Socket = l.path(or(cfg.Control.Socket, filepath.Join(cfg.DataDir, "herald.sock")))
	cfg.Timezone = or(cfg.Timezone, builtin.Timezone)
	cfg.Location = l.zone(cfg.Timezone)
	if n := len(cfg.Control.Socket); n > maxSocket {
		l.faults.add("control.socket", "%s has %d bytes, the path of a socket at most %d; set control.socket to a short one such as /run/herald/herald.sock",
			cfg.Control.Socket, n, maxSocket)
	}
	if strings.TrimSpace(cfg.Queue.Sweep) == "" {
		l.faults.add("queue.sweep", `empty; write a cron spec such as "@every 30s"`)
	}
	cfg.HTTP.Listen = l.listen(cfg.HTTP.Listen)
	l.oneOf("log.level", cfg.Log.Level, "debug", "info", "warn", "error")
	l.oneOf("log.format", cfg.Log.Format, "text", "json")

	l.durations("", map[string]time.Duration{
		"skip_if_late": cfg.SkipIfLate, "grace": cfg.Grace, "queue.settle": cfg.Queue.Settle, "queue.keep": cfg.Queue.Keep,
	}, 0)
	l.quality(&cfg.Quality)
	for i, c := range cfg.Notify {
		l.channel(element("notify", i), c)
	}
	l.durations("reconcile", map[string]time.Duration{"recent": cfg.Reconcile.Recent}, 0)
	if strings.TrimSpace(cfg.Reconcile.Every) == "" {
		l.faults.add("reconcile.every", `empty; write a cron spec such as "@every 1h"`)
	}
}

func or(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// zone finds a time zone. Local means the machine's, but Go would read a TZ that
// names no zone as UTC without a word.
func (l *loader) zone(name string) *time.Location {
	where := name
	if name == "Local" {
		tz, set := os.LookupEnv("TZ")
		if tz = strings.TrimPrefix(tz, ":"); !set || tz == "" || filepath.IsAbs(tz) {
			return time.Local
		}
		name, where = tz, "TZ="+tz
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		l.faults.add("timezone", "%s is no known zone; write a name such as Asia/Shanghai or UTC", where)
		return time.UTC
	}
	return loc
}

// listen checks the address of the dashboard. "off" does what an empty value
// does, which the environment cannot say.
func (l *loader) listen(address string) string {
	if address == "" || address == "off" {
		return ""
	}
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		l.faults.add("http.listen", "%q is not host:port; write 127.0.0.1:7788, or off", address)
	}
	return address
}

// quality checks the section of that name and makes its paths absolute.
func (l *loader) quality(q *Quality) {
	for _, path := range []*string{&q.PromptFile, &q.Words} {
		if *path != "" {
			*path = l.path(*path)
		}
	}
	l.durations("quality", map[string]time.Duration{"timeout": q.Timeout, "deadline": q.Deadline}, 1)
	l.durations("quality", map[string]time.Duration{"recheck": q.Recheck}, 0)
	l.order("quality", "timeout", q.Timeout, "deadline", q.Deadline)
	l.share("quality.pass_score", q.PassScore)
	l.oneOf("quality.on_degraded", string(q.OnDegraded), string(PublishDegraded), string(HoldDegraded))
	for i, p := range q.Providers {
		l.provider(element("quality.providers", i), p)
	}
}

func (l *loader) provider(key string, p Provider) {
	l.address(key+".base_url", p.BaseURL, "https://api.openai.com/v1")
	if p.Model == "" {
		l.faults.add(key+".model", "missing; name the model to ask")
	}
	l.durations(key, map[string]time.Duration{"timeout": p.Timeout}, 0)
	l.oneOf(key+".json_mode", p.JSONMode, "auto", "schema", "object", "off")
	l.counts(key, map[string]int{"max_tokens": p.MaxTokens}, 0)
	l.counts(key, map[string]int{"max_chars": p.MaxChars}, minChars)
}

// channel checks one way to tell people.
func (l *loader) channel(key string, c Channel) {
	l.oneOf(key+".type", c.Type, "webhook")
	l.address(key+".url", c.URL, "https://example.com/hook")
}

// address checks an http address.
func (l *loader) address(key, text, example string) {
	switch u, err := url.Parse(text); {
	case text == "":
		l.faults.add(key, "missing; write one such as %s", example)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		l.faults.add(key, "not an address; write one such as %s", example)
	}
}

// checkTarget checks the values that every target has.
func (l *loader) checkTarget(path string, t Target) {
	l.durations(path, map[string]time.Duration{
		"timeout": t.Timeout, "retry.base": t.Retry.Base, "retry.max": t.Retry.Max,
		"review.every": t.Review.Every, "review.max": t.Review.Max,
		"probe.every": t.Probe.Every, "probe.max": t.Probe.Max,
		"breaker.window": t.Breaker.Window, "breaker.open_for": t.Breaker.OpenFor,
	}, 1)
	l.durations(path, map[string]time.Duration{
		"pace.every": t.Pace.Every, "retry.give_up_after": t.Retry.GiveUpAfter, "lookup.absent_after": t.Lookup.AbsentAfter,
	}, 0)
	l.counts(path, map[string]int{
		"concurrency": t.Concurrency, "pace.burst": t.Pace.Burst, "lookup.times": t.Lookup.Times, "breaker.probes": t.Breaker.Probes,
	}, 1)
	l.counts(path, map[string]int{
		"retry.attempts": t.Retry.Attempts, "breaker.consecutive": t.Breaker.Consecutive, "breaker.min_calls": t.Breaker.MinCalls,
	}, 0)
	if t.Retry.Attempts > maxAttempts {
		l.faults.add(join(path, "retry.attempts"), "%d are too many; write at most %d, or 0 for no limit", t.Retry.Attempts, maxAttempts)
	}
	l.order(path, "retry.base", t.Retry.Base, "retry.max", t.Retry.Max)
	l.order(path, "review.every", t.Review.Every, "review.max", t.Review.Max)
	l.order(path, "probe.every", t.Probe.Every, "probe.max", t.Probe.Max)
	l.oneOf(join(path, "retry.strategy"), string(t.Retry.Strategy), string(Exponential), string(Incremental), string(Fixed))
	l.share(join(path, "retry.jitter"), t.Retry.Jitter)
	l.share(join(path, "breaker.failure_ratio"), t.Breaker.FailureRatio)
	if t.Breaker.FailureRatio == 0 && t.Breaker.MinCalls > 0 {
		l.faults.add(join(path, "breaker.failure_ratio"), "0 opens the breaker without a failure; to switch the rule off, set min_calls: 0")
	}
}

// durations refuses those below least: 0, or 1 for "more than 0".
func (l *loader) durations(path string, values map[string]time.Duration, least time.Duration) {
	for key, d := range values {
		switch {
		case d >= least:
		case d < 0:
			l.faults.add(join(path, key), "%s is negative; write a positive duration such as 30s", short(d))
		default:
			l.faults.add(join(path, key), "0 is too short; write a duration such as 30s")
		}
	}
}

func (l *loader) counts(path string, values map[string]int, least int) {
	for key, n := range values {
		if n < least {
			l.faults.add(join(path, key), "%d is too few; write %d or more", n, least)
		}
	}
}

// order refuses a longest interval that is shorter than the first. It blames the
// one of the two that is the target's own.
func (l *loader) order(path, first string, least time.Duration, longest string, most time.Duration) {
	if most >= least {
		return
	}
	blamed := longest
	if l.inherited(join(path, longest)) && !l.inherited(join(path, first)) {
		blamed = first
	}
	l.faults.add(join(path, blamed), "%s (%s) is shorter than %s (%s); raise it to at least that", longest, short(most), first, short(least))
}

// inherited reports whether the value of a target's key is not its own.
func (l *loader) inherited(key string) bool { return l.faults.alias[key] != "" }

func (l *loader) share(key string, v float64) {
	if !(v >= 0 && v <= 1) { // refuses NaN too
		l.faults.add(key, "%v is out of range; write a number from 0 to 1", v)
	}
}

func (l *loader) oneOf(key, v string, known ...string) {
	if slices.Contains(known, v) {
		return
	}
	if near := Nearest(v, known); near != "" {
		l.faults.add(key, "%q is not known; did you mean %s?", v, near)
		return
	}
	l.faults.add(key, "%q is not known; write one of %s", v, strings.Join(known, ", "))
}
