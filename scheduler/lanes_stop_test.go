package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/compensate"
	"herald/publisher"
	"herald/state"
)

func TestAStopLetsCallsUnderWayEndAndBeginsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		cut := false
		s.step = func(ctx context.Context, k state.Key) (compensate.Next, error) {
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
				cut = true
			}
			s.done(k)
			return compensate.Next{Done: true}, nil
		}
		s.add("a", time.Now(), "1", "2", "3")
		ls, stop := running(t, s, 25*time.Second, map[string]int{"a": 1})
		time.Sleep(4 * time.Second)
		ls.Wake("a")
		if took := stop(); took != 6*time.Second {
			t.Errorf("stopped after %v, want when the call had ended, after 6s", took)
		}
		if all, _ := s.count("1"); all != 1 || cut {
			t.Errorf("%d steps began, cut short %t; want the first alone, to its end", all, cut)
		}
	})
}

func TestAStopCutsCallsShortAfterTheGraceAndSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		var cause error
		saved := false
		s.step = func(ctx context.Context, _ state.Key) (compensate.Next, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			time.Sleep(time.Second) // it saves what became of it
			saved = true
			return compensate.Next{}, nil
		}
		s.add("a", time.Now(), "1", "2")
		_, stop := running(t, s, 25*time.Second, map[string]int{"a": 1, "idle": 1})
		time.Sleep(time.Minute)
		if took := stop(); took != 26*time.Second {
			t.Errorf("stopped after %v, want the grace and the second that saving took", took)
		}
		if !errors.Is(cause, publisher.ErrStopping) || !saved {
			t.Errorf("cause = %v, saved = %t; want ErrStopping, and the worker waited for", cause, saved)
		}
		if all, _ := s.count("2"); all != 1 {
			t.Errorf("%d steps began, want no other after the stop", all)
		}
	})
}

func TestAStopDuringAProbeWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		s.probe["a"] = true
		ended := false
		s.doProbe = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			ended = true
			return context.Cause(ctx)
		}
		_, stop := running(t, s, time.Second, map[string]int{"a": 1})
		time.Sleep(time.Minute)
		if stop(); !ended {
			t.Error("stopped while the probe was under way")
		}
	})
}

func TestIdleLanesStopAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		s.add("a", time.Now().Add(time.Hour), "later")
		_, stop := running(t, s, time.Minute, map[string]int{"a": 2, "b": 1})
		time.Sleep(time.Second)
		if took := stop(); took != 0 {
			t.Errorf("stopped after %v, want at once", took)
		}
	})
}

// sickStore cannot be read.
type sickStore struct {
	*steps
	looks atomic.Int64
}

func (s *sickStore) Work(string, time.Time, int) (compensate.Work, error) {
	s.looks.Add(1)
	return compensate.Work{}, errors.New("store is closed")
}

func TestALaneGoesOnWhenTheStoreCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sickStore{steps: newSteps()}
		ls, stop := running(t, s, time.Minute, map[string]int{"a": 1})
		time.Sleep(time.Minute)
		if n := s.looks.Load(); n < 10 || n > 15 {
			t.Errorf("looked %d times in a minute, want once a heart-beat", n)
		}
		if age := time.Since(ls.Beat()); age > heartBeat {
			t.Errorf("the last heart-beat is %v old", age)
		}
		stop()
	})
}

// The whole of it: an article, its time, the real store and driver.
func TestAnArticleIsPublishedAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, func(r *rig) { r.options.Location = berlin })
		// The bubble begins on 1 January 2000. The clocks go forward on 26 March.
		r.drop("early.md", "---\ntitle: Early\npublish_at: 2000-03-25 09:00\n---\n\nearly\n")
		r.drop("late.md", "---\ntitle: Late\npublish_at: 2000-03-26 09:00\n---\n\nlate\n")
		r.settle()
		time.Sleep(time.Until(time.Date(2000, 3, 25, 7, 0, 0, 0, time.UTC)))
		ls := NewLanes(r.targets, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			ls.Run(ctx, r.driver, time.Minute)
		}()
		time.Sleep(25 * time.Hour)
		cancel()
		<-ended
		for i, want := range []string{"2000-03-25T08:00:00Z", "2000-03-26T07:00:00Z"} {
			began := r.accounts["blog"].began
			if len(began) != 2 || began[i].UTC().Format(time.RFC3339) != want {
				t.Errorf("published at %v, want the %d. at %s", began, i+1, want)
			}
		}
		if err := r.store.Close(); err != nil {
			t.Error(err)
		}
	})
}
