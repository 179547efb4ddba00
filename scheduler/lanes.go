// Package scheduler keeps time: the queue folder is looked at when something
// changed and in any case now and then, each target has a lane that makes its
// steps when they are due, and both stop in order. What a step does is package
// compensate's; nothing here knows what an answer means.
package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"herald/compensate"
	"herald/publisher"
	"herald/state"
)

// Stepper is the driver as a lane sees it.
type Stepper interface {
	Work(target string, now time.Time, limit int) (compensate.Work, error)
	Step(ctx context.Context, k state.Key) (compensate.Next, error)
	Probe(ctx context.Context, target string) error
}

// Lanes is one lane a target. Each has its own workers, so that a target that
// hangs keeps only its own deliveries waiting.
type Lanes struct {
	lanes map[string]*lane
	log   *slog.Logger
}

// NewLanes makes the lanes; they stand still until Run.
func NewLanes(targets []*publisher.Target, log *slog.Logger) *Lanes {
	ls := &Lanes{lanes: make(map[string]*lane, len(targets)), log: log}
	for _, t := range targets {
		ls.lanes[t.Name] = &lane{
			target: t.Name, workers: max(1, t.Settings().Concurrency),
			wake: make(chan struct{}, 1), log: log.With("target", t.Name),
			busy: map[state.Key]bool{}, resting: map[state.Key]time.Time{},
		}
		ls.lanes[t.Name].beat.Store(time.Now().UnixNano()) // it has not stood still yet
	}
	return ls
}

// Wake makes a lane look for work. It is a hint: it may come early, late or for
// a target that has none.
func (ls *Lanes) Wake(target string) {
	if l := ls.lanes[target]; l != nil {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// Run works until ctx ends; then no further step begins, and those under way
// have the grace period to end before their calls are cut short.
func (ls *Lanes) Run(ctx context.Context, s Stepper, grace time.Duration) {
	calls, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	var running sync.WaitGroup
	for _, l := range ls.lanes {
		running.Go(func() { l.run(ctx, calls, s) })
	}
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		ls.log.Warn("calls under way are cut short", "grace", grace)
		cut(publisher.ErrStopping)
		<-ended
	}
}

// Beat returns the time of the heart-beat of the slowest lane; now if there is no
// lane. A lane beats at least every heartBeat while it is well: it never waits
// for a call itself.
func (ls *Lanes) Beat() time.Time {
	oldest := time.Now()
	for _, l := range ls.lanes {
		if at := time.Unix(0, l.beat.Load()); at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}

const (
	// heartBeat is the longest time a lane sleeps.
	heartBeat = 5 * time.Second
	// faultRest is how long a delivery rests whose step met a fault of herald
	// itself, such as a store that cannot be written.
	faultRest = 30 * time.Second
	// shortRest keeps a lane from spinning where a step or a probe ended without
	// an effect: it lost a race, or the pace refused it.
	shortRest = time.Second
)

// lane makes the due steps of one target.
type lane struct {
	target  string
	workers int
	wake    chan struct{}
	beat    atomic.Int64
	log     *slog.Logger

	busy    map[state.Key]bool      // under way
	resting map[state.Key]time.Time // refused for now, though their record says due
	probing bool
}

// probeKey stands for the target's probe among its deliveries.
var probeKey state.Key

// finished is what a worker reports.
type finished struct {
	key  state.Key
	next compensate.Next
	err  error
}

func (l *lane) run(ctx, calls context.Context, s Stepper) {
	var running sync.WaitGroup
	defer running.Wait()
	done := make(chan finished, l.workers+1)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		now := time.Now()
		l.beat.Store(now.UnixNano())
		next := l.dispatch(calls, s, now, done, &running)
		timer.Reset(next.Sub(now))
		select {
		case <-ctx.Done():
		case f := <-done:
			l.ended(f)
			for more := true; more; { // those of one commit end together
				select {
				case f := <-done:
					l.ended(f)
				default:
					more = false
				}
			}
		case <-l.wake:
			clear(l.resting) // whatever refused them may have changed
		case <-timer.C:
		}
	}
}

// dispatch starts what is due on free workers and returns when to look again.
func (l *lane) dispatch(calls context.Context, s Stepper, now time.Time, done chan<- finished, running *sync.WaitGroup) time.Time {
	next := now.Add(heartBeat)
	for k, until := range l.resting {
		if !until.After(now) {
			delete(l.resting, k)
		} else if until.Before(next) {
			next = until
		}
	}
	free := l.workers - len(l.busy)
	if free <= 0 {
		return next // a worker that ends brings us back
	}
	work, err := s.Work(l.target, now, free+len(l.busy)+len(l.resting))
	if err != nil {
		l.log.Error("work cannot be found", "error", err)
		return next
	}
	if _, rests := l.resting[probeKey]; work.Probe && !l.probing && !rests {
		l.probing = true
		running.Go(func() { done <- finished{err: s.Probe(calls, l.target)} })
	}
	for _, k := range work.Keys {
		if _, rests := l.resting[k]; free == 0 || rests || l.busy[k] {
			continue
		}
		free--
		l.busy[k] = true
		running.Go(func() {
			n, err := s.Step(calls, k)
			done <- finished{k, n, err}
		})
	}
	// A time that has passed is that of work which a report or the end of a rest
	// brings back.
	if work.Next.After(now) && work.Next.Before(next) {
		next = work.Next
	}
	return next
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// ended takes a worker's report.
func (l *lane) ended(f finished) {
	now := time.Now()
	if f.key == probeKey {
		l.probing = false
		l.resting[probeKey] = now.Add(shortRest)
	} else {
		delete(l.busy, f.key)
	}
	switch {
	case errors.Is(f.err, state.ErrConflict):
		l.log.Debug("another worker was faster", "article", f.key.Article)
		l.resting[f.key] = now.Add(shortRest)
	case f.err != nil:
		l.log.Error("step met a fault", "article", f.key.Article, "error", f.err)
		l.resting[f.key] = now.Add(faultRest)
	case f.next.Refused && f.next.At.After(now):
		l.resting[f.key] = f.next.At
	case f.next.Refused:
		l.resting[f.key] = now.Add(shortRest)
	}
}
