package platforms

// Kind says what a failure means. There is one verdict and no retry flag beside
// it: the table below is the only place where a kind has consequences.
type Kind string

// The kinds of failure.
const (
	// Unavailable: refused, 5xx on a read, known not to have been sent.
	Unavailable Kind = "unavailable"
	// RateLimited: too fast, or the quota is used up.
	RateLimited Kind = "rate_limited"
	// Dependency: the thing between herald and the platform is broken.
	Dependency Kind = "dependency"
	// Unauthorized: credential, permission, whitelist or plan.
	Unauthorized Kind = "unauthorized"
	// Rejected: this content can never pass.
	Rejected Kind = "rejected"
	// Invalid: herald sent nonsense.
	Invalid Kind = "invalid"
	// Exists: the platform says that it already has it.
	Exists Kind = "exists"
	// Uncertain: sent, but the answer was lost; or accepted without an id.
	Uncertain Kind = "uncertain"
	// Unknown: a code that is in no table.
	Unknown Kind = "unknown"
)

// Class is one of the four types of error that people see and metrics count.
type Class string

// The four classes and the reaction each asks for.
const (
	Transient        Class = "transient"  // try again with backoff
	Permanent        Class = "permanent"  // record it, a person decides
	DependencyBroken Class = "dependency" // degrade, or break the circuit
	StateUnclear     Class = "state"      // look first, then compensate
)

// Effect is how the breaker counts an answer.
type Effect int

// The effects of an answer on the breaker.
const (
	// Failure counts towards opening.
	Failure Effect = iota
	// Neutral is not counted at all.
	Neutral
	// Healthy says that the platform works, though it refused this content. It
	// closes a half-open breaker, but a row of outages is not interrupted by it.
	Healthy
)

// Reaction is what the delivery does next.
type Reaction int

// The reactions, one for each way a failure is answered.
const (
	RetryLater    Reaction = iota // again, with backoff
	HoldUntil                     // hold the target until its time; the delivery waits
	HoldForPerson                 // hold the target for a person, probe slowly
	StopRejected                  // stop as rejected
	LookElseRetry                 // look up; absent → try again
	LookElseStop                  // look up; absent → rejected
	LookElseFail                  // look up; absent → failed
)

// Meaning is one row of the failure table.
type Meaning struct {
	Kind     Kind
	Class    Class
	Breaker  Effect
	Spent    bool // the call counts against the limit of attempts
	Reaction Reaction
}

// meanings is the one screen that says what each failure means. Changing how
// herald reacts to a kind is changing one row.
var meanings = []Meaning{
	{Unavailable, Transient, Failure, true, RetryLater},
	{RateLimited, Transient, Neutral, false, HoldUntil},
	{Dependency, DependencyBroken, Failure, true, RetryLater},
	{Unauthorized, Permanent, Neutral, false, HoldForPerson},
	{Rejected, Permanent, Healthy, true, StopRejected},
	{Invalid, Permanent, Healthy, true, StopRejected},
	{Exists, StateUnclear, Healthy, true, LookElseStop},
	{Uncertain, StateUnclear, Failure, true, LookElseRetry},
	{Unknown, StateUnclear, Failure, true, LookElseFail},
}

// Meanings returns the whole table, for documentation and tests.
func Meanings() []Meaning { return append([]Meaning(nil), meanings...) }

// Meaning returns the row of k. A kind that is not in the table means what
// Unknown means.
func (k Kind) Meaning() Meaning {
	for _, m := range meanings {
		if m.Kind == k {
			return m
		}
	}
	return meanings[len(meanings)-1]
}

// Class returns which of the four types of error k is.
func (k Kind) Class() Class { return k.Meaning().Class }
