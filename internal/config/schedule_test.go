package config

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheScheduleIsThatOfTheStrategy(t *testing.T) {
	const m, h = time.Minute, time.Hour
	tests := []struct {
		name  string
		retry Retry
		waits []time.Duration
		text  string
	}{
		{"exponential", Retry{Strategy: Exponential, Base: 10 * m, Max: h, Attempts: 6}, []time.Duration{10 * m, 20 * m, 40 * m, h, h}, "10m, 20m, 40m, 1h ×2: 6 attempts in 3h10m"},
		{"incremental", Retry{Strategy: Incremental, Base: 10 * m, Max: 25 * m, Attempts: 5}, []time.Duration{10 * m, 20 * m, 25 * m, 25 * m}, "10m, 20m, 25m ×2: 5 attempts in 1h20m"},
		{"fixed", Retry{Strategy: Fixed, Base: 90 * time.Second, Max: h, Attempts: 3}, []time.Duration{90 * time.Second, 90 * time.Second}, "1m30s ×2: 3 attempts in 3m"},
		{"immediate", Retry{Strategy: Exponential, Base: 10 * m, Max: h, Attempts: 4, Immediate: true}, []time.Duration{0, 20 * m, 40 * m}, "0s, 20m, 40m: 4 attempts in 1h"},
		{"once", Retry{Strategy: Fixed, Base: m, Max: m, Attempts: 1}, nil, "one attempt, no retry"},
		{"until time is up", Retry{Strategy: Fixed, Base: h, Max: h, GiveUpAfter: 3 * h}, []time.Duration{h, h}, "1h ×2: 3 attempts in 2h"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Target{Retry: tt.retry}.Schedule()
			if diff := cmp.Diff(tt.waits, got.Waits); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if got.String() != tt.text {
				t.Errorf("%q, want %q", got, tt.text)
			}
		})
	}
}

func TestAScheduleWithoutLimitsIsCutShort(t *testing.T) {
	s := Target{Retry: Retry{Strategy: Fixed, Base: time.Hour, Max: time.Hour}}.Schedule()
	if !s.Endless || len(s.Waits) != endless || s.String() != "1h ×20, … without end" {
		t.Errorf("%v, %d waits, %q", s.Endless, len(s.Waits), s)
	}
}

func TestAScheduleIsBoundedWhateverTheValues(t *testing.T) {
	for _, strategy := range []Strategy{Exponential, Incremental, Fixed} {
		for _, r := range []Retry{
			{Strategy: strategy, Base: 1, Max: math.MaxInt64, GiveUpAfter: math.MaxInt64},
			{Strategy: strategy, Base: math.MaxInt64, Max: math.MaxInt64, Attempts: maxAttempts, GiveUpAfter: 1},
			{Strategy: strategy, Base: math.MaxInt64/2 + 1, Max: math.MaxInt64, Attempts: maxAttempts, GiveUpAfter: math.MaxInt64},
		} {
			s := Target{Retry: r}.Schedule()
			if len(s.Waits) > maxAttempts || s.Total < 0 {
				t.Errorf("%+v: %d waits, total %v", r, len(s.Waits), s.Total)
			}
			for i, wait := range s.Waits {
				if wait <= 0 {
					t.Fatalf("%+v: wait %d is %v", r, i, wait)
				}
			}
			_ = Target{Retry: r}.Warnings()
		}
	}
}

func TestSettingsAtOddsAreWarnedOf(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	fixed := func(base time.Duration, attempts int, giveUp time.Duration) Retry {
		return Retry{Strategy: Fixed, Base: base, Max: base, Attempts: attempts, GiveUpAfter: giveUp}
	}
	tests := []struct {
		name    string
		timeout time.Duration
		retry   Retry
		want    []string
	}{
		{"in order", 30 * s, fixed(h, 11, 12*h), nil},
		{"timeout as long as the interval", m, fixed(m, 0, h), nil},
		{"timeout longer than the interval", 2 * m, fixed(m, 0, h), []string{"timeout (2m) is longer than the interval of the retries (retry.base 1m)"}},
		{"attempts outlast", s, fixed(h, 20, 10*h), []string{"the 20 attempts take 19h and outlast give_up_after (10h): 10 of them are made"}},
		{"attempts end long before", s, fixed(h, 3, 72*h), []string{"the 3 attempts are over after 2h, long before give_up_after (72h)"}},
		{"no limit of attempts", s, fixed(h, 0, h), nil},
		{"no limit of time", s, fixed(h, 100, 0), nil},
		{"the built-in values", 30 * s, defaultTarget().Retry, []string{"the 20 attempts take 88h30m and outlast give_up_after (72h): 17 of them are made"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Target{Timeout: tt.timeout, Retry: tt.retry}.Warnings()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
