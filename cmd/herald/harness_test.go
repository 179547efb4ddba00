package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"herald/internal/control"
	"herald/state"
)

// TestMain makes this test binary the program `herald` too, so that the tests
// run the real thing in processes of its own, under the race detector where the
// tests are.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"herald": main})
}

// patience is how long anything may take before a test gives up on it.
const patience = 30 * time.Second

// place is a folder with a configuration, in which herald runs.
type place struct {
	t   *testing.T
	dir string
	env []string
}

// newPlace makes a place with a configuration. Without one herald runs on its
// defaults.
func newPlace(t *testing.T, config string) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir()}
	// The variables of a machine's own herald must not reach ours.
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HERALD_") && !strings.HasPrefix(v, "NOTIFY_") && !strings.HasPrefix(v, "WATCHDOG_") {
			p.env = append(p.env, v)
		}
	}
	if config != "" {
		p.write("herald.yaml", config)
		p.env = append(p.env, "HERALD_CONFIG="+p.path("herald.yaml"))
	}
	return p
}

// settings is the head of a configuration whose waits are short. The targets
// follow it.
const settings = `data_dir: data
timezone: Asia/Shanghai
http: { listen: "" }
grace: 5s
queue: { settle: 100ms }
log: { level: debug }
defaults:
  pace: { every: 0s }
  retry: { strategy: fixed, base: 300ms, max: 1s, jitter: 0 }
  breaker: { consecutive: 0, min_calls: 0 }
targets:
`

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) socket() string { return p.path("data/herald.sock") }

func (p *place) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o750); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// drop puts an article into the queue folder by a rename, as a mover does.
func (p *place) drop(name, text string) {
	p.t.Helper()
	p.write(filepath.Join("drop", name), text)
	if err := os.Rename(p.path(filepath.Join("drop", name)), p.path(filepath.Join("data/queue", name))); err != nil {
		p.t.Fatal(err)
	}
}

// result is how a command ended.
type result struct {
	out, err string
	code     int
}

// herald runs one command to its end.
func (p *place) herald(args ...string) result {
	p.t.Helper()
	return p.answer("", args...)
}

// answer runs one command that is given an input.
func (p *place) answer(input string, args ...string) result {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "herald", args...)
	cmd.WaitDelay = time.Second
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.env, strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		p.t.Fatalf("herald %s: %v", strings.Join(args, " "), err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// want runs a command and demands its exit code.
func (p *place) want(code int, args ...string) result {
	p.t.Helper()
	r := p.herald(args...)
	if r.code != code {
		p.t.Fatalf("herald %s: exit %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

// buffer is a bytes.Buffer that a process and a test may use at once, and that
// tells when it has grown.
type buffer struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func newBuffer() *buffer { return &buffer{grown: make(chan struct{}, 1)} }

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.grown <- struct{}{}:
	default:
	}
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// process is a daemon, or another command that goes on.
type process struct {
	*place
	cmd      *exec.Cmd
	out, log *buffer
	ended    chan struct{} // closed when it has ended
	said     chan string   // what it told systemd
	killed   bool
}

// start runs the daemon and waits until it has told systemd that it is ready.
func (p *place) start(args ...string) *process {
	p.t.Helper()
	d := p.launch(args...)
	d.hear("READY=1")
	return d
}

// launch runs the daemon, and ends it with the test.
func (p *place) launch(args ...string) *process {
	p.t.Helper()
	said := make(chan string, 1000)
	q := *p
	q.env = append(slices.Clip(p.env), "NOTIFY_SOCKET="+p.listen(said))
	d := q.command(append([]string{"run"}, args...)...)
	d.said = said
	p.t.Cleanup(func() {
		d.stop()
		if d.killed {
			return
		}
		if code := d.cmd.ProcessState.ExitCode(); code != 0 {
			p.t.Errorf("the daemon ended with %d", code)
		}
		if p.t.Failed() {
			p.t.Logf("log of the daemon:\n%s", d.log)
		}
	})
	return d
}

// command starts a command.
func (p *place) command(args ...string) *process {
	p.t.Helper()
	d := &process{place: p, out: newBuffer(), log: newBuffer(), ended: make(chan struct{})}
	d.cmd = exec.Command("herald", args...)
	d.cmd.WaitDelay = 10 * time.Second // for a git that outlives a killed daemon
	d.cmd.Dir, d.cmd.Env, d.cmd.Stdout, d.cmd.Stderr = p.dir, p.env, d.out, d.log
	if err := d.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_ = d.cmd.Wait() // the tests look at ProcessState
		close(d.ended)
	}()
	return d
}

// listen plays systemd: it opens a socket for what a daemon tells.
func (p *place) listen(said chan<- string) string {
	p.t.Helper()
	dir, err := os.MkdirTemp("", "n") // the path of a socket must be short
	if err != nil {
		p.t.Fatal(err)
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _, _ = conn.Close(), os.RemoveAll(dir) })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			select {
			case said <- string(buf[:n]):
			default: // a test that hears nothing
			}
		}
	}()
	return filepath.Join(dir, "n")
}

// hear waits until the daemon has told systemd so.
func (d *process) hear(what string) {
	d.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case got := <-d.said:
			if got == what {
				return
			}
		case <-d.ended:
			d.t.Fatalf("the daemon ended before it said %s:\n%s", what, d.log)
		case <-timer.C:
			d.t.Fatalf("the daemon never said %s:\n%s", what, d.log)
		}
	}
}

// logged waits until the log holds text.
func (d *process) logged(text string) {
	d.t.Helper()
	d.grow(d.log, text, fmt.Sprintf("logged %q", text))
}

func (d *process) grow(b *buffer, text, what string) {
	d.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for !strings.Contains(b.String(), text) {
		select {
		case <-b.grown:
		case <-d.ended:
			if !strings.Contains(b.String(), text) {
				d.t.Fatalf("it ended before it %s:\n%s%s", what, d.out, d.log)
			}
		case <-timer.C:
			d.t.Fatalf("it never %s:\n%s%s", what, d.out, d.log)
		}
	}
}

func (d *process) signal(s os.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.t.Fatal(err)
	}
}

// stop ends the daemon as systemd would.
func (d *process) stop() {
	d.t.Helper()
	d.signal(syscall.SIGTERM)
	d.wait()
}

// kill ends the daemon as the kernel would.
func (d *process) kill() {
	d.t.Helper()
	d.killed = true
	d.signal(syscall.SIGKILL)
	d.wait()
}

func (d *process) wait() {
	d.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-d.ended:
	case <-timer.C:
		d.killed = true
		_ = d.cmd.Process.Kill() // it is gone already, or goes now
		d.t.Errorf("the daemon did not end:\n%s", d.log)
	}
}

// receive waits for something to come through a channel, or for its close.
func receive(t *testing.T, from <-chan struct{}) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-from:
	case <-timer.C:
		t.Fatal("what is waited for does not come")
	}
}

// await waits until the article is as wanted, and returns it.
func (p *place) await(id string, what string, wanted func(state.Report) bool) state.Report {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	client := control.NewClient(p.socket())
	var last string
	for {
		st, err := client.Article(ctx, state.ArticleID(id))
		if err == nil && wanted(st.Articles[0]) {
			return st.Articles[0]
		}
		if ctx.Err() == nil {
			last = fmt.Sprintf("%+v, %v", st, err)
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("%s never was %s; last %s", id, what, last)
		case <-ticker.C:
		}
	}
}

// awaitState waits for an article's state.
func (p *place) awaitState(id string, want state.ArticleState) state.Report {
	p.t.Helper()
	return p.await(id, string(want), func(r state.Report) bool { return r.State == want })
}

func delivery(r state.Report, target string) state.DeliveryReport {
	for _, d := range r.Deliveries {
		if d.Target == target {
			return d
		}
	}
	return state.DeliveryReport{}
}
