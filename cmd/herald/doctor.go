package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/config"
	"herald/internal/control"
	"herald/platforms"
	"herald/publisher"
	"herald/scheduler"
	"herald/state"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "look at everything herald needs, one line each, with the remedy", Args: cobra.NoArgs,
		Long: "look at everything herald needs: configuration, folders, clock, daemon and store, and\n" +
			"with one cheap read whether each account can be used. Run it as the user that herald\n" +
			"runs as. Exit code 1 if something has to be mended.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := doctor{screen: newScreen(a.out, time.Local, time.Now())}
			cfg, err := a.load()
			if err != nil {
				for line := range strings.Lines(err.Error()) {
					d.bad("configuration", errors.New(line), "")
				}
				return exitCode(1)
			}
			d.cfg, d.zone = cfg, cfg.Location
			d.examine(cmd.Context())
			if d.sick {
				return exitCode(1)
			}
			return nil
		},
	}
}

// doctor prints one line a finding.
type doctor struct {
	screen
	cfg  *config.Config
	sick bool
}

func (d *doctor) well(what, detail string) { d.line("ok", green, what, detail) }

func (d *doctor) warn(what, detail string) { d.line("warn", yellow, what, detail) }

func (d *doctor) bad(what string, err error, remedy string) {
	d.sick = true
	detail := oneLine(err.Error())
	if remedy != "" {
		detail += "; " + remedy
	}
	d.line("FAIL", red, what, detail)
}

func (d *doctor) line(verdict string, c color, what, detail string) {
	fmt.Fprintf(d.out, "%s  %-14s %s\n", d.paint(fmt.Sprintf("%-4s", verdict), c), what, detail)
}

func (d *doctor) examine(ctx context.Context) {
	d.well("configuration", cmp.Or(d.cfg.File, noFile))
	for _, w := range d.cfg.Warnings {
		d.warn("configuration", w)
	}
	d.folder("data", d.cfg.DataDir)
	d.folder("queue", d.cfg.Queue.Dir)
	d.clock()
	if !d.daemon(ctx) {
		d.socket()
		d.store()
	}
	d.receipts()
	ts, err := targets(d.cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		d.bad("targets", err, "mend the configuration")
	}
	for _, t := range ts {
		d.target(ctx, t)
	}
}

// folder tries to write where herald writes.
func (d *doctor) folder(what, dir string) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.warn(what, dir+" is not there yet; `herald run` makes it")
		return
	case err != nil:
		d.bad(what, err, "let the user that herald runs as reach it")
		return
	case !info.IsDir():
		d.bad(what, fmt.Errorf("%s is not a folder", dir), "move it away, or choose another place in the configuration")
		return
	}
	f, err := os.CreateTemp(dir, ".doctor-*.tmp")
	if err != nil {
		d.bad(what, err, "let the user that herald runs as write there")
		return
	}
	_, err = io.WriteString(f, "herald")
	if err := errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		d.bad(what, err, "make room on the disk")
		return
	}
	d.well(what, dir)
}

// clock looks whether times can be trusted.
func (d *doctor) clock() {
	at := d.now.In(d.zone).Format("2006-01-02 15:04:05 -07:00") + " in " + d.cfg.Timezone
	switch synced, known := clockSynced(); {
	case known && !synced:
		d.warn("clock", at+"; it is not synchronised: switch on NTP, or publish_at may come early or late")
	default:
		d.well("clock", at)
	}
}

// daemon asks whether herald runs.
func (d *doctor) daemon(ctx context.Context) bool {
	info, err := control.NewClient(d.cfg.Control.Socket).Info(ctx)
	switch {
	case errors.Is(err, control.ErrNotRunning):
		d.warn("daemon", "not running; start it with `herald run`")
		return false
	case err != nil:
		d.bad("daemon", err, "look at its log, and restart it")
		return true
	}
	d.well("daemon", fmt.Sprintf("herald %s, process %d, since %s, on %s", info.Version, info.PID, d.when(info.Started), d.cfg.Control.Socket))
	if info.Lost > 0 {
		d.bad("receipts", fmt.Errorf("the store does not know %s that have stored sources", articles(int(info.Lost))), "stop herald and run `herald restore`")
	}
	return true
}

// socket looks whether the socket could be opened.
func (d *doctor) socket() {
	path := d.cfg.Control.Socket
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.well("socket", path+" is free")
	case err != nil:
		d.bad("socket", err, "let the user that herald runs as reach it, or choose another with control.socket")
	case info.Mode().Type() != os.ModeSocket:
		d.bad("socket", fmt.Errorf("%s is something else", path), "move it away, or choose another with control.socket")
	default:
		d.well("socket", path+" was left behind; `herald run` replaces it")
	}
}

// store opens the store of a herald that does not run.
func (d *doctor) store() {
	path := filepath.Join(d.cfg.DataDir, storeFile)
	s, err := state.OpenReadOnly(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && d.published():
		d.bad("store", fmt.Errorf("%s is missing, though articles were published", path),
			"put a backup in its place; without it herald does not know them, and would publish again what is dropped again")
	case errors.Is(err, os.ErrNotExist):
		d.warn("store", path+" is not there yet; `herald run` makes it")
	case err != nil:
		d.bad("store", err, "stop what uses it, or put a backup in its place")
	default:
		_ = s.Close() // opened for reading
		d.well("store", path)
	}
}

// published reports whether the queue folder keeps sources of articles.
func (d *doctor) published() bool {
	kept, err := filepath.Glob(filepath.Join(d.cfg.Queue.Dir, ".done", "*", "r*"))
	return err == nil && len(kept) > 0
}

// target probes one account.
func (d *doctor) target(ctx context.Context, t *publisher.Target) {
	prober, ok := t.Platform.(platforms.Prober)
	if !ok {
		d.well(t.Name, t.Type+": configured; this platform has no probe")
		return
	}
	permit := d.permit(ctx, t)
	if permit == nil {
		d.warn(t.Name, "not asked: interrupted")
		return
	}
	if out := permit.Call(ctx, "probe", prober.Probe); out.Err != nil {
		remedy := "see that it can be reached from here, and that its address is right in the configuration"
		if out.Err.Kind == platforms.Unauthorized {
			remedy = "mend the credential or the permission, then `herald retry --target " + t.Name + "`"
		}
		d.bad(t.Name, out.Err, remedy)
		return
	}
	d.well(t.Name, t.Type+": usable")
}

// permit waits for the pace of the account, which another target may share.
func (d *doctor) permit(ctx context.Context, t *publisher.Target) *publisher.Permit {
	for {
		permit, again := t.Permit(time.Now(), false)
		if permit != nil {
			return permit
		}
		timer := time.NewTimer(time.Until(again))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// receipts looks for articles that were published but that the store has lost.
func (d *doctor) receipts() {
	store, err := state.OpenReadOnly(filepath.Join(d.cfg.DataDir, storeFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return // in use, or told above
	}
	known := func(string) bool { return false }
	if err == nil {
		defer store.Close()
		known = func(id string) bool {
			return store.View(func(r state.Reader) error { _, err := r.Article(state.ArticleID(id)); return err }) == nil
		}
	}
	lost := 0
	err = scheduler.EachReceipt(d.cfg.Queue.Dir, func(id string, _ scheduler.Receipt, err error) error {
		if err != nil {
			d.bad("receipts", err, "its article is known to the store alone")
		} else if !known(id) {
			lost++
		}
		return nil
	})
	switch {
	case err != nil:
		d.bad("receipts", err, "let the user that herald runs as read them")
	case lost > 0:
		d.bad("receipts", fmt.Errorf("the store does not know %s that have receipts", articles(lost)), "it is new or was lost: run `herald restore` before anything is dropped")
	}
}
