package config

import (
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	// endless is how many waits a schedule shows that nothing ends.
	endless = 20
	// maxAttempts bounds retry.attempts, and a schedule that only time ends.
	maxAttempts = 10_000
)

// Schedule is the plan of a target's attempts when each of them fails, without
// jitter.
type Schedule struct {
	// Waits stand between the attempts, so there is one fewer. They go as far as
	// retry.attempts, or without that as far as retry.give_up_after.
	Waits []time.Duration
	// Total is how long the waits take together.
	Total time.Duration
	// Endless is true if neither limit is set; Waits are the first few then.
	Endless bool
}

// Wait returns the wait before repetition n, counted from 1, without jitter.
func (r Retry) Wait(n int) time.Duration {
	if n == 1 && r.Immediate {
		return 0
	}
	wait := r.Base
	switch r.Strategy {
	case Exponential:
		for i := 1; i < n; i++ {
			if wait > r.Max/2 {
				return r.Max
			}
			wait *= 2
		}
	case Incremental:
		if n > int(r.Max/max(1, r.Base)) { // the product might overflow
			return r.Max
		}
		wait *= time.Duration(n)
	}
	return min(wait, r.Max)
}

// Schedule returns when the target's attempts come.
func (t Target) Schedule() Schedule {
	r := t.Retry
	s := Schedule{Endless: r.Attempts == 0 && r.GiveUpAfter == 0}
	more := func() bool {
		switch {
		case s.Endless:
			return len(s.Waits) < endless
		case r.Attempts > 0:
			return len(s.Waits) < r.Attempts-1
		}
		return len(s.Waits) < maxAttempts && add(s.Total, r.Wait(len(s.Waits)+1)) < r.GiveUpAfter
	}
	for more() {
		wait := r.Wait(len(s.Waits) + 1)
		s.Waits = append(s.Waits, wait)
		s.Total = add(s.Total, wait)
	}
	return s
}

// add is a + b, or the longest duration there is.
func add(a, b time.Duration) time.Duration { return a + min(b, math.MaxInt64-a) }

// String writes the schedule on one line: "10m, 20m, 40m, 6h ×3: 19h10m".
func (s Schedule) String() string {
	if len(s.Waits) == 0 {
		return "one attempt, no retry"
	}
	var parts []string
	for i := 0; i < len(s.Waits); {
		same := 1
		for i+same < len(s.Waits) && s.Waits[i+same] == s.Waits[i] {
			same++
		}
		part := short(s.Waits[i])
		if same > 1 {
			part += fmt.Sprintf(" ×%d", same)
		}
		parts = append(parts, part)
		i += same
	}
	text := strings.Join(parts, ", ")
	if s.Endless {
		return text + ", … without end"
	}
	return fmt.Sprintf("%s: %d attempts in %s", text, len(s.Waits)+1, short(s.Total))
}

// Warnings says where the settings of the target's retries are at odds with
// each other.
func (t Target) Warnings() []string {
	var all []string
	r, total := t.Retry, t.Schedule().Total
	if t.Timeout > r.Base {
		all = append(all, fmt.Sprintf("timeout (%s) is longer than the interval of the retries (retry.base %s)", short(t.Timeout), short(r.Base)))
	}
	if r.Attempts == 0 || r.GiveUpAfter == 0 {
		return all
	}
	switch {
	case total > r.GiveUpAfter:
		made, at := 1, r.Wait(1)
		for at < r.GiveUpAfter {
			made++
			at = add(at, r.Wait(made))
		}
		all = append(all, fmt.Sprintf("the %d attempts take %s and outlast give_up_after (%s): %d of them are made",
			r.Attempts, short(total), short(r.GiveUpAfter), made))
	case total < r.GiveUpAfter/2:
		all = append(all, fmt.Sprintf("the %d attempts are over after %s, long before give_up_after (%s)",
			r.Attempts, short(total), short(r.GiveUpAfter)))
	}
	return all
}

// short writes a duration without the zeros that Go's form ends in: 72h, not
// 72h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
