package config

import "time"

// Target is one configured account. All but Name, Type, Enabled, Concurrency
// and Options may change while the daemon runs.
type Target struct {
	Name    string `mapstructure:"name"`
	Type    string `mapstructure:"type"`
	Enabled bool   `mapstructure:"enabled"` // a disabled target is configured but unused

	Timeout     time.Duration `mapstructure:"timeout"`     // of one call
	Concurrency int           `mapstructure:"concurrency"` // deliveries at a time
	Pace        Pace          `mapstructure:"pace"`
	Retry       Retry         `mapstructure:"retry"`
	Lookup      Lookup        `mapstructure:"lookup"`
	Review      Review        `mapstructure:"review"`
	Probe       Probe         `mapstructure:"probe"`
	Breaker     Breaker       `mapstructure:"breaker"`
	// RemoveTwins takes surplus copies of a post back, where a look-up after a
	// late success finds some; otherwise they are reported.
	RemoveTwins bool `mapstructure:"remove_twins"`

	// Options holds the adapter's own keys, from which [Decode] makes its
	// configuration struct. Of an enabled target of a known type, secrets are
	// read from their files and have the type platforms.Secret.
	Options map[string]any `mapstructure:",remain"`
}

// Pace limits how fast a platform is called.
type Pace struct {
	Every time.Duration `mapstructure:"every"` // least time between calls; 0: no limit
	Burst int           `mapstructure:"burst"` // calls that may come at once
}

// Strategy says how the wait between two attempts grows.
type Strategy string

// The strategies of waiting.
const (
	Exponential Strategy = "exponential" // base, 2·base, 4·base, …
	Incremental Strategy = "incremental" // base, 2·base, 3·base, …
	Fixed       Strategy = "fixed"       // base, base, base, …
)

// Retry says when a failed call is made again and when it is given up.
type Retry struct {
	Strategy    Strategy      `mapstructure:"strategy"`
	Base        time.Duration `mapstructure:"base"`
	Max         time.Duration `mapstructure:"max"`           // no wait is longer
	Jitter      float64       `mapstructure:"jitter"`        // share of a wait that is random, 0..1
	Attempts    int           `mapstructure:"attempts"`      // spent calls; 0: no limit
	GiveUpAfter time.Duration `mapstructure:"give_up_after"` // since the first attempt; 0: never
	Immediate   bool          `mapstructure:"immediate"`     // the first retry comes at once
}

// Lookup says when an absent post is believed to be absent.
type Lookup struct {
	AbsentAfter time.Duration `mapstructure:"absent_after"` // since the first attempt
	Times       int           `mapstructure:"times"`        // look-ups in a row that find nothing
}

// Review says how often a post under review is asked for.
type Review struct {
	Every time.Duration `mapstructure:"every"` // the first poll; doubles
	Max   time.Duration `mapstructure:"max"`   // the longest interval
}

// Probe says how often a held target is tried.
type Probe struct {
	Every time.Duration `mapstructure:"every"` // the first probe; doubles while refused
	Max   time.Duration `mapstructure:"max"`   // the longest interval
}

// Breaker says when a target is left alone because it keeps failing.
type Breaker struct {
	Consecutive  int           `mapstructure:"consecutive"`   // failures in a row that open it; 0: rule off
	FailureRatio float64       `mapstructure:"failure_ratio"` // of the calls in Window that opens it, 0..1
	Window       time.Duration `mapstructure:"window"`
	MinCalls     int           `mapstructure:"min_calls"` // calls in Window before the ratio counts; 0: rule off
	OpenFor      time.Duration `mapstructure:"open_for"`
	Probes       int           `mapstructure:"probes"` // calls let through while half-open
}
