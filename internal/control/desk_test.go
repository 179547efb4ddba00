package control_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"herald/compensate"
	"herald/internal/control"
	"herald/state"
)

// desk is a driver that writes down what it was asked and gives one answer.
type desk struct {
	mu    sync.Mutex
	asked []string

	reports []state.Report
	report  state.Report
	targets []compensate.TargetReport
	changes []compensate.Change
	err     error
	block   chan struct{} // if set, every question waits until it is closed
	entered chan struct{} // if set, closed when the first question is there
}

func (d *desk) note(format string, args ...any) {
	d.mu.Lock()
	d.asked = append(d.asked, fmt.Sprintf(format, args...))
	first := len(d.asked) == 1
	d.mu.Unlock()
	if first && d.entered != nil {
		close(d.entered)
	}
	if d.block != nil {
		<-d.block
	}
}

func (d *desk) questions() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.asked...)
}

func (d *desk) Reports(limit int, attention bool, _ time.Time) ([]state.Report, error) {
	d.note("reports %d %v", limit, attention)
	return d.reports, d.err
}

func (d *desk) Report(id state.ArticleID, _ time.Time) (state.Report, error) {
	d.note("report %s", id)
	return d.report, d.err
}

func (d *desk) Targets(time.Time) ([]compensate.TargetReport, error) {
	d.note("targets")
	return d.targets, d.err
}

func (d *desk) Retry(id state.ArticleID, target string, _ time.Time) ([]compensate.Change, error) {
	d.note("retry %s on %q", id, target)
	return d.changes, d.err
}

func (d *desk) RetryTarget(target string, _ time.Time) ([]compensate.Change, error) {
	d.note("retry target %s", target)
	return d.changes, d.err
}

func (d *desk) Resolve(id state.ArticleID, target, url string, _ time.Time) ([]compensate.Change, error) {
	d.note("resolve %s on %q at %q", id, target, url)
	return d.changes, d.err
}

func (d *desk) Cancel(id state.ArticleID, target string, _ time.Time) ([]compensate.Change, error) {
	d.note("cancel %s on %q", id, target)
	return d.changes, d.err
}

func (d *desk) Withdraw(id state.ArticleID, target string, _ time.Time) ([]compensate.Change, error) {
	d.note("withdraw %s on %q", id, target)
	return d.changes, d.err
}

func (d *desk) Republish(id state.ArticleID, target string, _ time.Time) ([]compensate.Change, error) {
	d.note("republish %s on %q", id, target)
	return d.changes, d.err
}

func (d *desk) Approve(id state.ArticleID, target string, _ time.Time) ([]compensate.Change, error) {
	d.note("approve %s on %q", id, target)
	return d.changes, d.err
}

// serve puts d behind a real socket until the test ends, and returns its path
// and what stops it and waits.
func serve(t *testing.T, d *desk) (path string, stop func() error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s.sock")
	l, err := control.Listen(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	info := func() control.Info { return control.Info{Version: "v1", PID: 7, DataDir: "/data"} }
	srv := control.NewServer(d, info, func(w io.Writer) (int64, error) { n, err := io.WriteString(w, "copy"); return int64(n), err }, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return path, stop
}

// raw is an HTTP client of the socket, for what control.Client never sends.
func raw(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		},
	}}
}
