package publisher

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"herald/internal/config"
	"herald/platforms"
)

// errNeutral tells the breaker that a call says nothing about the platform.
var errNeutral = errors.New("not counted")

// reopenMargin is added to the time at which an open breaker is asked again,
// since it ends strictly after its timeout.
const reopenMargin = time.Second

// windowBuckets is how many slices the rolling window of the failure ratio has.
const windowBuckets = 10

// breaker is gobreaker with two things it does not do: it remembers when it
// opened, and it counts failures in a row for as long as they last, while
// gobreaker forgets those that leave its window. A platform that is called once
// in ten minutes would never open otherwise.
type breaker struct {
	cb      *gobreaker.TwoStepCircuitBreaker[struct{}]
	openFor time.Duration
	inARow  atomic.Int64
	opened  atomic.Pointer[time.Time]
}

func newBreaker(c config.Target, log *slog.Logger) *breaker {
	s := c.Breaker
	b := &breaker{openFor: s.OpenFor}
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         c.Name,
		MaxRequests:  uint32(max(1, s.Probes)),
		Interval:     s.Window,
		BucketPeriod: s.Window / windowBuckets,
		Timeout:      s.OpenFor,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			if s.Consecutive > 0 && b.inARow.Load() >= int64(s.Consecutive) {
				return true
			}
			counted := n.TotalSuccesses + n.TotalFailures
			return s.MinCalls > 0 && counted >= uint32(s.MinCalls) &&
				float64(n.TotalFailures) >= s.FailureRatio*float64(counted)
		},
		// Runs under the breaker's lock: it must not ask the breaker.
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				now := time.Now()
				b.opened.Store(&now)
			case gobreaker.StateClosed:
				b.inARow.Store(0)
			}
			log.Warn("breaker changed", "from", from.String(), "to", to.String())
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errNeutral) },
	})
	return b
}

// allow asks for a call; trial says that it is a half-open breaker's probe.
func (b *breaker) allow() (done func(error), trial bool, err error) {
	done, err = b.cb.Allow()
	return done, err == nil && b.cb.State() == gobreaker.StateHalfOpen, err
}

// again says when a refused caller should come back.
func (b *breaker) again(now time.Time) time.Time {
	if _, _, until := b.describe(); until.After(now) {
		return until
	}
	return now.Add(reopenMargin) // half-open, and its probes are under way
}

// count tells the breaker how a call ended. A platform that answers but refuses
// the content is well; yet such an answer between two outages does not interrupt
// their row, or a few bad articles would hide that the platform is down.
func (b *breaker) count(done func(error), out Outcome) {
	switch {
	case out.Err == nil:
		b.inARow.Store(0)
		done(nil)
	case out.Interrupted:
		done(errNeutral)
	default:
		switch out.Err.Kind.Meaning().Breaker {
		case platforms.Failure:
			b.inARow.Add(1)
			done(out.Err)
		case platforms.Healthy:
			done(nil)
		default:
			done(errNeutral)
		}
	}
}

// describe returns the state in words and, while open, since and until when.
func (b *breaker) describe() (state string, since, until time.Time) {
	s := b.cb.State()
	if s == gobreaker.StateOpen {
		if at := b.opened.Load(); at != nil {
			since, until = *at, at.Add(b.openFor+reopenMargin)
		}
	}
	return s.String(), since, until
}
