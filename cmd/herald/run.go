package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"herald/internal/config"
	"herald/internal/control"
	"herald/publisher"
	"herald/scheduler"
)

func (a *app) runCommand() *cobra.Command {
	return &cobra.Command{
		Use: "run", Short: "run the daemon", Args: cobra.NoArgs,
		Long: "run the daemon until SIGTERM or Ctrl-C. Without a configuration everything lies in\n" +
			"./herald-data, and articles are published to a blog in ./herald-data/site.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			d, err := assemble(cfg, logger(a.err, cfg.Log))
			if err != nil {
				return err
			}
			return d.run(cmd.Context(), a.out)
		},
	}
}

// run works until ctx ends, and stops in order: queue folder, lanes (with their
// grace), control socket, store.
func (d *daemon) run(ctx context.Context, out io.Writer) (err error) {
	defer func() { err = errors.Join(err, d.store.Close()) }()
	d.warn(d.cfg)
	lost, err := d.driver.Recover(time.Now())
	if err != nil {
		return err
	}
	if lost > 0 {
		d.log.Warn("calls were under way when herald ended; they are looked up first", "deliveries", lost)
	}
	if newest, err := d.driver.Reports(1, false, time.Now()); err == nil && len(newest) == 0 {
		d.astray()
	}
	socket, err := control.Listen(d.cfg.Control.Socket, d.cfg.Control.Mode)
	if err != nil {
		return err
	}
	sweep := make(chan struct{}, 1)
	cron, err := scheduler.Cron(d.cfg.Location, d.log,
		scheduler.Job{Name: "queue.sweep", Spec: d.cfg.Queue.Sweep, Run: func() { poke(sweep) }},
		scheduler.Job{Name: "pruning", Spec: "17 3 * * *", Run: d.prune},
		scheduler.Job{Name: "reconcile.every", Spec: d.cfg.Reconcile.Every, Run: d.reconcile},
	)
	if err != nil {
		return errors.Join(err, socket.Close())
	}

	// From here on a SIGHUP is a reload and no longer the end.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)

	// What serves people outlives what publishes: status answers while the lanes
	// wind down.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	var servers, workers sync.WaitGroup
	d.serve(serving, socket, &servers)
	// The last receipts are written once no delivery moves any more.
	keeping, stopReceipts := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReceipts()
	servers.Go(func() { d.receipts.Run(keeping) })
	workers.Go(func() { d.queue.Watch(ctx, sweep) })
	workers.Go(func() { cron(ctx) })
	workers.Go(func() { d.lanes.Run(ctx, d.driver, d.cfg.Grace) })
	workers.Go(func() { d.reload(ctx, hup) })
	workers.Go(func() { d.people.Run(ctx) })
	workers.Go(func() { d.checks.Run(ctx) })
	workers.Go(func() { d.watchdog(ctx) })
	d.greet(out)
	d.notify(sd.SdNotifyReady)

	<-ctx.Done()
	d.log.Info("stopping", "grace", d.cfg.Grace)
	d.notify(sd.SdNotifyStopping)
	workers.Wait()
	stopServing()
	stopReceipts()
	servers.Wait()
	d.log.Info("stopped")
	return nil
}

func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// serve answers on the control socket and, where configured, over HTTP. An HTTP
// address that is taken costs only the health page.
func (d *daemon) serve(ctx context.Context, socket net.Listener, running *sync.WaitGroup) {
	srv := control.NewServer(d.driver, d.info, d.store.Backup, d.log)
	running.Go(func() {
		if err := srv.Serve(ctx, socket); err != nil {
			d.log.Error("control socket", "error", err)
		}
	})
	if d.cfg.HTTP.Listen == "" {
		return
	}
	l, err := net.Listen("tcp", d.cfg.HTTP.Listen)
	if err != nil {
		d.log.Warn("health page is off; choose another address with http.listen", "error", err)
		return
	}
	running.Go(func() {
		if err := control.ServeHealth(ctx, l, d.info, promhttp.HandlerFor(d.metrics.registry, promhttp.HandlerOpts{}), d.log); err != nil {
			d.log.Error("health page", "error", err)
		}
	})
}

func (d *daemon) info() control.Info {
	return control.Info{
		Version: versionText(), PID: os.Getpid(), Started: d.started, DataDir: d.cfg.DataDir, Beat: d.lanes.Beat(),
		Lost: d.lost.Load(),
	}
}

// homed is a platform whose place a person can open.
type homed interface{ Home() string }

// greet tells where everything is.
func (d *daemon) greet(out io.Writer) {
	fmt.Fprintf(out, "herald %s is running\n", versionText())
	line := func(what, where string) row { return row{cells: []cell{{text: "  " + what}}, tail: cell{text: where}} }
	rows := []row{
		line("queue", d.cfg.Queue.Dir+"  (drop .md files or folders here)"),
		line("socket", d.cfg.Control.Socket),
	}
	for _, t := range d.targets {
		where := "(" + t.Type + ")"
		if h, ok := t.Platform.(homed); ok {
			where = h.Home()
		}
		rows = append(rows, line(t.Name, where))
	}
	screen{out: out}.table(nil, rows)
	fmt.Fprintln(out, "  `herald status` tells what is where; Ctrl-C stops")
}

// notify tells systemd, where there is one.
func (d *daemon) notify(what string) {
	if _, err := sd.SdNotify(false, what); err != nil {
		d.log.Warn("systemd cannot be told", "error", err)
	}
}

// watchdog tells systemd that herald is well as long as every lane beats. A lane
// never waits for a platform, so it stands still only when herald itself does.
func (d *daemon) watchdog(ctx context.Context) {
	limit, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		d.log.Warn("systemd's watchdog is not fed", "error", err)
	}
	if limit <= 0 {
		return
	}
	ticker := time.NewTicker(limit / 3) // one may come late
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if d.info().Well(now) {
				d.notify(sd.SdNotifyWatchdog)
			} else {
				d.log.Error("a lane stands still", "since", d.lanes.Beat())
			}
		}
	}
}

// reload puts changed settings into force on SIGHUP or when the file changes.
func (d *daemon) reload(ctx context.Context, hup <-chan os.Signal) {
	d.reloader.Watch(ctx, hup, func(c config.Change, err error) {
		if err != nil {
			d.log.Error("configuration not reloaded; the old one stays in force", "error", err)
			return
		}
		d.warn(c.Config)
		publisher.Configure(d.targets, c.Config.Targets)
		for _, t := range d.targets {
			d.lanes.Wake(t.Name)
		}
		d.log.Info("configuration reloaded", "applied", c.Applied, "needs_restart", c.Restart)
	})
}

// warn logs what deserves attention in a configuration.
func (d *daemon) warn(c *config.Config) {
	for _, w := range c.Warnings {
		d.log.Warn("configuration", "warning", w)
	}
}

// reconcile looks for what should not be, mends what is safe and names the rest.
func (d *daemon) reconcile() {
	found, err := d.driver.Reconcile(d.cfg.Reconcile.Recent, time.Now())
	if err != nil {
		d.log.Error("sweep", "error", err)
	}
	for _, f := range found {
		level := slog.LevelError
		if f.Mended {
			level = slog.LevelWarn
		}
		d.log.Log(context.Background(), level, "found by the sweep", "article", f.Article, "target", f.Target, "what", f.What, "mended", f.Mended)
	}
	d.astray()
}

// astray tells of articles whose sources are stored, but that the store does not
// know: it is new, or an old one was put in its place.
func (d *daemon) astray() {
	ids := d.queue.Astray(d.driver.Known)
	d.lost.Store(int64(len(ids)))
	if len(ids) > 0 {
		d.log.Error("the store does not know articles that have stored sources; stop herald and run `herald restore`", "articles", len(ids), "first", ids[0])
	}
}

// prune removes the sources of articles that are finished and old.
func (d *daemon) prune() {
	if d.cfg.Queue.Keep > 0 {
		d.queue.Prune(time.Now().Add(-d.cfg.Queue.Keep), d.driver.Finished)
	}
}
