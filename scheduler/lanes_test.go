package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/compensate"
	"herald/publisher"
	"herald/state"
)

// steps is a driver in memory: a delivery is due at a time, and its step does
// what the test says.
type steps struct {
	mu    sync.Mutex
	due   map[state.Key]time.Time
	probe map[string]bool // targets that are to be probed
	// step makes the step; nil: it takes a second and is done.
	step    func(ctx context.Context, k state.Key) (compensate.Next, error)
	doProbe func(ctx context.Context, target string) error

	looks    int // calls of Work
	began    []started
	busy     map[state.Key]int
	peak     map[string]int // steps at a time, by target
	overlaps int            // steps of a delivery that was under way
}

type started struct {
	key state.Key
	at  time.Time
}

func newSteps() *steps {
	return &steps{due: map[state.Key]time.Time{}, probe: map[string]bool{}, busy: map[state.Key]int{}, peak: map[string]int{}}
}

func (s *steps) add(target string, at time.Time, articles ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range articles {
		s.due[state.Key{Article: state.ArticleID(a), Target: target}] = at
	}
}

// Work implements Stepper as the driver does: at most limit keys, and the time of
// the first behind them, though it may have come.
func (s *steps) Work(target string, now time.Time, limit int) (compensate.Work, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	w := compensate.Work{Probe: s.probe[target]}
	var keys []state.Key
	for k := range s.due {
		if k.Target == target {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b state.Key) int {
		if c := s.due[a].Compare(s.due[b]); c != 0 {
			return c
		}
		return slices.Compare([]byte(a.Article), []byte(b.Article))
	})
	for _, k := range keys {
		if at := s.due[k]; at.After(now) || len(w.Keys) == limit {
			w.Next = at
			break
		}
		w.Keys = append(w.Keys, k)
	}
	if w.Probe {
		w.Next = now // as a hold's time that has come
	}
	return w, nil
}

func (s *steps) Step(ctx context.Context, k state.Key) (compensate.Next, error) {
	s.mu.Lock()
	s.began = append(s.began, started{k, time.Now()})
	if s.busy[k]++; s.busy[k] > 1 {
		s.overlaps++
	}
	under := 0
	for other, n := range s.busy {
		if other.Target == k.Target {
			under += n
		}
	}
	s.peak[k.Target] = max(s.peak[k.Target], under)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.busy[k]--
		s.mu.Unlock()
	}()
	if s.step != nil {
		return s.step(ctx, k)
	}
	return s.takeASecond(ctx, k)
}

func (s *steps) takeASecond(ctx context.Context, k state.Key) (compensate.Next, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return compensate.Next{}, context.Cause(ctx)
	}
	s.done(k)
	return compensate.Next{Done: true}, nil
}

func (s *steps) done(k state.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.due, k)
}

func (s *steps) Probe(ctx context.Context, target string) error {
	s.mu.Lock()
	s.began = append(s.began, started{state.Key{Target: target}, time.Now()})
	s.mu.Unlock()
	return s.doProbe(ctx, target)
}

// count returns how many steps began, and how many of them of an article.
func (s *steps) count(article string) (all, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.began {
		if string(b.key.Article) == article {
			of++
		}
	}
	return len(s.began), of
}

// running starts lanes of the targets, each with so many workers, and returns how
// to stop them. In its bubble a goroutine that is left behind fails the test.
func running(t *testing.T, s Stepper, grace time.Duration, workers map[string]int) (ls *Lanes, stop func() time.Duration) {
	t.Helper()
	var specs []publisher.Spec
	for name, n := range workers {
		c := settings(name)
		c.Concurrency = n
		specs = append(specs, publisher.Spec{Config: c})
	}
	log := slog.New(slog.DiscardHandler)
	ls = NewLanes(publisher.New(specs, log), log)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ls.Run(ctx, s, grace)
	}()
	return ls, func() time.Duration {
		began := time.Now()
		cancel()
		<-ended
		return time.Since(began)
	}
}

func TestALaneWorksWithItsConcurrencyAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		for _, target := range []string{"a", "b"} {
			s.add(target, time.Now(), "1", "2", "3", "4", "5", "6", "7")
		}
		_, stop := running(t, s, time.Minute, map[string]int{"a": 1, "b": 3})
		began := time.Now()
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if len(s.due) != 0 {
			t.Errorf("%d deliveries left after %v, want none", len(s.due), time.Since(began))
		}
		if s.peak["a"] != 1 || s.peak["b"] != 3 || s.overlaps != 0 {
			t.Errorf("at a time %v, twice at a time %d; want 1 and 3, and 0", s.peak, s.overlaps)
		}
		stop()
	})
}

func TestTheOldestDeliveryIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		now := time.Now()
		s.add("a", now.Add(-time.Hour), "old")
		s.add("a", now.Add(-time.Minute), "older", "b", "c")
		s.add("a", now.Add(-2*time.Hour), "oldest")
		_, stop := running(t, s, time.Minute, map[string]int{"a": 1})
		time.Sleep(10 * time.Second)
		stop()
		if s.began[0].key.Article != "oldest" || s.began[1].key.Article != "old" {
			t.Errorf("began with %v, want the oldest first", s.began[:2])
		}
	})
}

func TestATargetThatHangsKeepsNoOtherWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		s.step = func(ctx context.Context, k state.Key) (compensate.Next, error) {
			if k.Target == "sick" {
				<-ctx.Done()
				return compensate.Next{}, context.Cause(ctx)
			}
			return s.takeASecond(ctx, k)
		}
		s.add("sick", time.Now(), "1", "2", "3")
		s.add("well", time.Now(), "1", "2", "3")
		ls, stop := running(t, s, time.Second, map[string]int{"sick": 2, "well": 1})
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if s.busy[state.Key{Article: "3", Target: "well"}] != 0 || len(s.due) != 3 {
			t.Errorf("left %v, want only those of the sick target", s.due)
		}
		time.Sleep(time.Hour)
		if age := time.Since(ls.Beat()); age > heartBeat {
			t.Errorf("the last heart-beat is %v old, want at most %v: a lane waits for no call", age, heartBeat)
		}
		stop()
	})
}

func TestADeliveryStartsAtItsTimeAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		at := time.Now().Add(26*time.Hour + 3*time.Millisecond)
		s.add("a", at, "later")
		ls, stop := running(t, s, time.Minute, map[string]int{"a": 1})
		for range 100 { // wakes are hints
			time.Sleep(time.Minute)
			ls.Wake("a")
		}
		time.Sleep(30 * time.Hour)
		stop()
		if len(s.began) != 1 || !s.began[0].at.Equal(at) {
			t.Errorf("began %v, want once at %v", s.began, at)
		}
	})
}

func TestAWakeBringsWorkAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		ls, stop := running(t, s, time.Minute, map[string]int{"a": 4, "b": 1})
		time.Sleep(time.Millisecond)
		now := time.Now()
		s.add("a", now, "1")
		for range 10 {
			ls.Wake("a")
			ls.Wake("nobody")
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.began) != 1 || !s.began[0].at.Equal(now) || s.overlaps != 0 {
			t.Errorf("began %v, want once at %v", s.began, now)
		}
		s.add("a", time.Now(), "2") // and without a wake within a heart-beat
		time.Sleep(heartBeat)
		if all, _ := s.count("2"); all != 2 {
			t.Errorf("%d steps, want a lost wake to cost a heart-beat", all)
		}
		stop()
	})
}

func TestBeatIsNowWithoutLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ls, stop := running(t, newSteps(), time.Minute, nil)
		time.Sleep(time.Hour)
		if age := time.Since(ls.Beat()); age != 0 {
			t.Errorf("heart-beat is %v old, want none: there is no lane that could stand still", age)
		}
		stop()
	})
}

func TestAnErrorRestsItsDeliveryAndNotTheLane(t *testing.T) {
	for name, c := range map[string]struct {
		refused time.Duration // 0: not refused
		err     error
		most    int // steps in five minutes
	}{
		"a fault of the store":     {err: errors.New("disk full"), most: 11},
		"a lost race":              {err: state.ErrConflict, most: 301},
		"refused for a minute":     {refused: time.Minute, most: 6},
		"refused until a time ago": {refused: -time.Hour, most: 301},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSteps()
				s.step = func(ctx context.Context, k state.Key) (compensate.Next, error) {
					if k.Article != "sick" {
						return s.takeASecond(ctx, k)
					}
					return compensate.Next{Refused: c.refused != 0, At: time.Now().Add(c.refused)}, c.err
				}
				s.add("a", time.Now().Add(-time.Hour), "sick")
				s.add("a", time.Now(), "1", "2", "3")
				_, stop := running(t, s, time.Minute, map[string]int{"a": 1})
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				if _, of := s.count("sick"); of < 2 || of > c.most {
					t.Errorf("%d steps in five minutes, want some, and at most %d", of, c.most)
				}
				if len(s.due) != 1 {
					t.Errorf("left %v, want the others done", s.due)
				}
				if s.looks > 2*c.most+200 {
					t.Errorf("looked for work %d times: the lane spins", s.looks)
				}
				stop()
			})
		})
	}
}

func TestATargetIsProbedOnceAtATime(t *testing.T) {
	for name, c := range map[string]struct {
		probe       func(ctx context.Context, target string) error
		least, most int // probes in a minute
	}{
		"while it hangs": {func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, 1, 1},
		"while the pace refuses it": {func(context.Context, string) error { return nil }, 2, 61},
		"while the store fails":     {func(context.Context, string) error { return errors.New("disk full") }, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSteps()
				s.probe["a"], s.doProbe = true, c.probe
				_, stop := running(t, s, time.Second, map[string]int{"a": 3})
				time.Sleep(time.Minute)
				stop()
				if all, _ := s.count(""); all < c.least || all > c.most {
					t.Errorf("%d probes in a minute, want %d to %d", all, c.least, c.most)
				}
				if s.looks > 200 {
					t.Errorf("looked for work %d times: the lane spins", s.looks)
				}
			})
		})
	}
}
