package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cronLog lets cron speak through slog.
type cronLog struct{ log *slog.Logger }

func (c cronLog) Info(msg string, kv ...any) {
	c.log.Debug("cron", append([]any{"event", msg}, kv...)...)
}

func (c cronLog) Error(err error, msg string, kv ...any) {
	c.log.Error("cron", append([]any{"event", msg, "error", err}, kv...)...)
}

// Job is something that is done by the clock.
type Job struct {
	Name string // the configuration key of Spec, or what the job does
	Spec string // as cron has it: "@every 30s", "17 3 * * *"
	Run  func()
}

// Cron runs jobs by the clock of location until ctx ends, then waits for those
// under way. A job that panics or is still running does no harm.
func Cron(location *time.Location, log *slog.Logger, jobs ...Job) (run func(context.Context), err error) {
	logger := cronLog{log}
	// Recover is the inner one: SkipIfStillRunning would otherwise take a job
	// that panicked once for running ever after.
	c := cron.New(cron.WithLocation(location), cron.WithLogger(logger),
		cron.WithChain(cron.SkipIfStillRunning(logger), cron.Recover(logger)))
	for _, j := range jobs {
		schedule, err := parseSchedule(j.Spec)
		if err != nil {
			return nil, fmt.Errorf("schedule %s %q: %w; write it as cron does, for instance \"@every 30s\" or \"0 3 * * *\"", j.Name, j.Spec, err)
		}
		c.Schedule(schedule, cron.FuncJob(j.Run))
	}
	return func(ctx context.Context) {
		c.Start()
		<-ctx.Done()
		<-c.Stop().Done()
	}, nil
}

func parseSchedule(spec string) (cron.Schedule, error) {
	// The library panics on a zone without a schedule behind it.
	if strings.Contains(spec, "TZ=") && !strings.Contains(spec, " ") {
		return nil, errors.New("a time zone needs a schedule behind it")
	}
	schedule, err := cron.ParseStandard(spec)
	if err != nil {
		return nil, err
	}
	if schedule.Next(time.Now()).IsZero() {
		return nil, errors.New("it never comes")
	}
	return schedule, nil
}
