package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"herald/compensate"
	"herald/degrade"
	"herald/internal/config"
	"herald/internal/notify"
	"herald/platforms"
	"herald/platforms/builtin"
	"herald/publisher"
	"herald/scheduler"
	"herald/state"
)

// storeFile is the name of the store below the data directory.
const storeFile = "herald.db"

// logger makes the daemon's log.
func logger(w io.Writer, c config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // checked by config; info otherwise
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// env is what the adapter of a target gets.
func env(cfg *config.Config, target string, log *slog.Logger) platforms.Env {
	return platforms.Env{
		Target: target, Dir: filepath.Join(cfg.DataDir, "targets", target), Base: cfg.Base,
		Location: cfg.Location, Log: log.With("target", target),
	}
}

// targets makes every enabled target, or says what is wrong with each.
func targets(cfg *config.Config, log *slog.Logger) ([]*publisher.Target, error) {
	var specs []publisher.Spec
	var faults []error
	for _, t := range cfg.Targets {
		if !t.Enabled {
			continue
		}
		p, err := builtin.New(t, env(cfg, t.Name, log))
		if err != nil {
			faults = append(faults, err)
			continue
		}
		specs = append(specs, publisher.Spec{Config: t, Platform: p})
	}
	return publisher.New(specs, log), errors.Join(faults...)
}

// offline makes the targets for a look at the store while herald does not run.
// Those that cannot be made are left out: their records are shown all the same.
func (a *app) offline() []*publisher.Target {
	log := slog.New(slog.DiscardHandler)
	cfg, err := a.load()
	if err != nil {
		return nil
	}
	ts, _ := targets(cfg, log)
	return ts
}

// daemon is the assembled herald, from the queue folder to the store.
type daemon struct {
	cfg      *config.Config
	log      *slog.Logger
	store    *state.Bolt
	receipts *scheduler.Receipts
	people   *notify.Notifier
	checks   *scheduler.Checks
	metrics  *metrics
	targets  []*publisher.Target
	driver   *compensate.Driver
	lanes    *scheduler.Lanes
	queue    *scheduler.Queue
	started  time.Time
	lost     atomic.Int64 // articles with sources that the store does not know
	reloader *config.Reloader
}

// assemble opens the store and puts everything together; nothing runs yet.
func assemble(cfg *config.Config, log *slog.Logger) (d *daemon, err error) {
	d = &daemon{cfg: cfg, log: log, started: time.Now(), reloader: config.NewReloader(cfg), metrics: newMetrics()}
	if err := os.MkdirAll(cfg.DataDir, 0o750); err != nil {
		return nil, fmt.Errorf("make data directory: %w; choose another with data_dir", err)
	}
	if d.targets, err = targets(cfg, log); err != nil {
		return nil, err
	}
	store, err := state.Open(filepath.Join(cfg.DataDir, storeFile))
	if errors.Is(err, state.ErrLocked) {
		return nil, fmt.Errorf("%w: another herald runs on this data directory; `herald status` shows what it does", err)
	}
	if err != nil {
		return nil, err
	}
	d.store = store
	d.lanes = scheduler.NewLanes(d.targets, log)
	sources := scheduler.NewSources(cfg.Queue.Dir, cfg.Location)
	quality, err := newQuality(cfg, log)
	if err != nil {
		return nil, errors.Join(err, d.store.Close())
	}
	d.driver = compensate.New(compensate.Options{
		Store: d.store, Targets: d.targets, Sources: sources, Log: log, Wake: d.lanes.Wake,
		Location: cfg.Location, Moved: d.moved, Count: d.metrics.moved, Notify: len(cfg.Notify) > 0, Room: d.room,
		Check: quality.asks(), Simhash: degrade.Simhash,
	})
	if err := quality.on(d.driver, d.store, d.targets); err != nil {
		return nil, errors.Join(err, d.store.Close())
	}
	quality.count = d.metrics.checked
	d.metrics.watch(d.driver)
	d.checks = scheduler.NewChecks(d.driver, sources, quality.judge, log)
	d.receipts = scheduler.NewReceipts(cfg.Queue.Dir, d.driver.Record, log)
	d.people = notify.New(d.store, channels(cfg, log), log)
	d.queue, err = scheduler.NewQueue(scheduler.QueueOptions{
		Dir: cfg.Queue.Dir, Settle: cfg.Queue.Settle, Location: cfg.Location,
		Targets: targetNames(cfg), SkipIfLate: cfg.SkipIfLate, Room: d.room,
		Check: quality.check, Admitted: d.admitted,
	}, d.driver, log)
	if err != nil {
		return nil, errors.Join(err, d.store.Close())
	}
	return d, nil
}

// admitted is what follows an admission.
func (d *daemon) admitted(state.ArticleID) {
	d.checks.Wake()
	d.people.Wake()
}

// moved is what follows a saved move: the receipt beside the sources, and what
// people are told. Neither can fail the delivery.
func (d *daemon) moved(id state.ArticleID) {
	d.receipts.Keep(id)
	d.people.Wake()
}

// channels are the ways to tell people.
func channels(cfg *config.Config, log *slog.Logger) []notify.Channel {
	var all []notify.Channel
	for _, c := range cfg.Notify {
		all = append(all, notify.NewWebhook(c.URL, c.Secret, log, nil))
	}
	return all
}

// leastRoom is how much of the disk must be free for a call to begin: what it
// brings about has to be recorded.
const leastRoom = 16 << 20

// room says why nothing may begin: the disk is almost full.
func (d *daemon) room() error {
	free, known := freeSpace(d.cfg.DataDir)
	if known && free < leastRoom {
		return fmt.Errorf("less than %s are left on the disk of %s; make room", humanize.IBytes(leastRoom), d.cfg.DataDir)
	}
	return nil
}

// targetNames are the names that front matter may use: those of the disabled
// targets too.
func targetNames(cfg *config.Config) []string {
	names := make([]string, len(cfg.Targets))
	for i, t := range cfg.Targets {
		names[i] = t.Name
	}
	return names
}
