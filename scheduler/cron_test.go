package scheduler

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// runCron runs jobs until stop is called, which waits for those under way.
func runCron(t *testing.T, jobs ...Job) (stop func()) {
	t.Helper()
	run, err := Cron(time.UTC, slog.New(slog.DiscardHandler), jobs...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func TestAJobThatPanicsComesAgainAndHarmsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sick, well atomic.Int64
		stop := runCron(t,
			Job{"sick", "@every 30s", func() { sick.Add(1); panic("sick") }},
			Job{"well", "@every 30s", func() { well.Add(1) }},
		)
		time.Sleep(5*time.Minute + time.Second)
		if sick.Load() != 10 || well.Load() != 10 {
			t.Errorf("ran %d and %d times, want 10 each", sick.Load(), well.Load())
		}
		stop()
	})
}

func TestAJobThatIsStillRunningIsSkippedAndWaitedForAtTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began, ended atomic.Int64
		stop := runCron(t, Job{"slow", "@every 30s", func() {
			began.Add(1)
			time.Sleep(100 * time.Second)
			ended.Add(1)
		}})
		time.Sleep(281 * time.Second) // begins at 30 s, 150 s and 270 s
		if began.Load() != 3 || ended.Load() != 2 {
			t.Errorf("began %d and ended %d times, want 3 and 2", began.Load(), ended.Load())
		}
		stop()
		if ended.Load() != 3 {
			t.Error("stopped while a job was under way")
		}
	})
}

func TestASpecThatIsNoneNamesItsKeyAndTheRemedy(t *testing.T) {
	for _, spec := range []string{"", "30s", "@every", "@every soon", "* * * *", "61 * * * *", "TZ=UTC", "CRON_TZ=UTC", "TZ=Nowhere/Land * * * * *", "0 0 30 2 *"} {
		_, err := Cron(time.UTC, slog.New(slog.DiscardHandler), Job{"queue.sweep", spec, func() {}})
		if err == nil {
			t.Errorf("%q is taken for a schedule", spec)
			continue
		}
		for _, want := range []string{"queue.sweep", `"` + spec + `"`, `"@every 30s"`} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q does not say %s", err, want)
			}
		}
	}
}

func TestSpecsOfCronAreTaken(t *testing.T) {
	for _, spec := range []string{"@every 30s", "@hourly", "17 3 * * *", "*/5 * * * *", "CRON_TZ=Asia/Shanghai 0 9 * * *"} {
		if _, err := Cron(time.UTC, slog.New(slog.DiscardHandler), Job{"queue.sweep", spec, func() {}}); err != nil {
			t.Errorf("%q: %v", spec, err)
		}
	}
}
