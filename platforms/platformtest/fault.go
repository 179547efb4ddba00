package platformtest

import "fmt"

// Mode is a way in which one call can go wrong.
type Mode int

// The ways in which a call can go wrong.
const (
	// NotSent fails the call before it has any effect.
	NotSent Mode = iota
	// ReplyLost lets the call take effect and loses the answer.
	ReplyLost
	// Crash lets the call take effect, loses the answer, and stops everything
	// that comes after it until Disarm: what a killed process leaves behind.
	Crash
	// Hang lets the call take effect and never answers: the call ends with its
	// context. A world that cannot hang may ignore it.
	Hang
	// Echo refuses the call with an answer that repeats all of the request,
	// credentials included.
	Echo
)

// String names the mode as test names do.
func (m Mode) String() string {
	switch m {
	case NotSent:
		return "not sent"
	case ReplyLost:
		return "reply lost"
	case Crash:
		return "crash"
	case Hang:
		return "hang"
	case Echo:
		return "echo"
	default:
		return fmt.Sprintf("mode %d", int(m))
	}
}

// Faults breaks the calls that an adapter makes on its world: HTTP requests,
// commands, file operations. [FaultTransport] is the one for HTTP; an adapter
// that goes another way brings its own.
type Faults interface {
	// Arm makes call number n from now on, counted from 1, go wrong. It sets
	// the count to zero; n = 0 only counts. The channel is closed when the
	// fault has struck (for Hang: once the call hangs).
	Arm(n int, m Mode) (struck <-chan struct{})
	// Disarm lets every call through again.
	Disarm()
	// Calls returns the number of calls since Arm.
	Calls() int
}
