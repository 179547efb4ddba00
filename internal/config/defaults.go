package config

import (
	"time"

	"herald/platforms"
)

// defaultConfig returns the built-in value of every global key.
func defaultConfig() Config {
	return Config{
		DataDir:   "./herald-data",
		Timezone:  "Asia/Shanghai",
		Grace:     25 * time.Second,
		Queue:     Queue{Settle: 2 * time.Second, Sweep: "@every 30s", Keep: 2160 * time.Hour},
		Control:   Control{Mode: 0o660},
		HTTP:      HTTP{Listen: "127.0.0.1:7788"},
		Log:       Log{Level: "info", Format: "text"},
		Reconcile: Reconcile{Every: "@every 1h", Recent: 72 * time.Hour},
		Quality: Quality{
			PassScore: 0.7, Timeout: 30 * time.Second, Deadline: time.Minute,
			OnDegraded: PublishDegraded, Recheck: 10 * time.Minute,
		},
	}
}

// defaultProvider returns the built-in value of every key of an AI service.
func defaultProvider() Provider { return Provider{JSONMode: "auto", MaxTokens: 4096, MaxChars: 8000} }

// defaultTarget returns the built-in value of every key that all targets share.
func defaultTarget() Target {
	return Target{
		Enabled:     true,
		Timeout:     30 * time.Second,
		Concurrency: 1,
		Pace:        Pace{Every: 2 * time.Second, Burst: 1},
		Retry: Retry{
			Strategy: Exponential, Base: 10 * time.Minute, Max: 6 * time.Hour, Jitter: 0.2,
			Attempts: 20, GiveUpAfter: 72 * time.Hour,
		},
		Lookup: Lookup{AbsentAfter: time.Minute, Times: 2},
		Review: Review{Every: 10 * time.Second, Max: 30 * time.Minute},
		Probe:  Probe{Every: 15 * time.Minute, Max: 6 * time.Hour},
		Breaker: Breaker{
			Consecutive: 5, FailureRatio: 0.5, Window: time.Minute, MinCalls: 10,
			OpenFor: time.Minute, Probes: 1,
		},
	}
}

// advise puts the platform's advice in the place of the built-in values.
func (t *Target) advise(a platforms.Advice) {
	if a.Pace != 0 {
		t.Pace.Every = max(0, a.Pace)
	}
	if a.Timeout > 0 {
		t.Timeout = a.Timeout
	}
	if a.AbsentAfter != 0 {
		t.Lookup.AbsentAfter = max(0, a.AbsentAfter)
	}
	if a.AbsentTimes > 0 {
		t.Lookup.Times = a.AbsentTimes
	}
}
