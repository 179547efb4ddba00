package storm

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/internal/control"
	"herald/state"
)

// patience is how long anything may take before a test gives up on it.
const patience = 30 * time.Second

// bin is the folder of the programs that are built for the tests.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if bin, err = os.MkdirTemp("", "storm"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(bin) // a temporary folder
	os.Exit(code)
}

var given = flag.String("program", "", "the herald to prove, built with -tags failpoint; by default it is built")

// build makes the real program, with failpoints, once.
var build = sync.OnceValues(func() (string, error) {
	if *given != "" {
		return *given, nil
	}
	program := filepath.Join(bin, "herald")
	out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", program, "herald/cmd/herald").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build herald: %w\n%s", err, out)
	}
	return program, nil
})

// settings is the head of a configuration whose waits are short. The targets
// follow it.
const settings = `data_dir: data
timezone: Asia/Shanghai
http: { listen: "" }
grace: 5s
queue: { settle: 10ms }
defaults:
  timeout: 10s
  pace: { every: 0s }
  retry: { strategy: fixed, base: 50ms, max: 50ms, jitter: 0 }
  lookup: { absent_after: 20ms, times: 1 }
  review: { every: 20ms, max: 20ms }
  probe: { every: 100ms, max: 100ms }
  breaker: { consecutive: 0, min_calls: 0 }
targets:
`

// place is a folder with a configuration, in which herald runs.
type place struct {
	t       testing.TB
	dir     string
	program string
}

// newPlace makes a place whose configuration has these targets.
func newPlace(t testing.TB, targets ...string) *place {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: t.TempDir(), program: program}
	p.write("herald.yaml", []byte(settings+strings.Join(targets, "")))
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) write(name string, content []byte) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o750); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), content, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// drop puts an article with two pictures of its own into the queue folder.
func (p *place) drop(id, title string) {
	p.t.Helper()
	for name, content := range sources(id, title) {
		p.write(filepath.Join("data/drop", id, name), content)
	}
	if err := os.MkdirAll(p.path("data/queue"), 0o750); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(p.path("data/drop/"+id), p.path("data/queue/"+id)); err != nil {
		p.t.Fatal(err)
	}
}

// sources are the files of an article: its text and its pictures are nobody
// else's.
func sources(id, title string) map[string][]byte {
	return map[string][]byte{
		"index.md": append(text(id, title), "\n![one](one.png)\n\n![two](two.png)\n"...),
		"one.png":  picture(id + "/one"),
		"two.png":  picture(id + "/two"),
	}
}

// text is the Markdown of an article without its pictures.
func text(id, title string) []byte {
	return fmt.Appendf(nil, "---\ntitle: %s\n---\n\nText of %s.\n", title, id)
}

// picture is a small PNG that is another one for every name.
func picture(name string) []byte {
	hash := fnv.New64a()
	fmt.Fprint(hash, name)
	sum := hash.Sum(nil)
	im := image.NewNRGBA(image.Rect(0, 0, 8, 8))
	for i := range 64 {
		im.Set(i%8, i/8, color.NRGBA{sum[i%8], sum[(i+3)%8], sum[(i/8)%8], 255})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, im); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}

// log is what a daemon prints, readable meanwhile.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// process is a daemon.
type process struct {
	*place
	cmd   *exec.Cmd
	log   *log
	ended chan struct{}
}

// start runs the daemon with further environment. It does not wait: a daemon with
// a failpoint may never be ready.
func (p *place) start(env ...string) *process {
	p.t.Helper()
	d := &process{place: p, log: &log{}, ended: make(chan struct{})}
	d.run(exec.Command(p.program, "run", "--config", p.path("herald.yaml")), env...)
	return d
}

// run starts a command, which ends with the test.
func (d *process) run(cmd *exec.Cmd, env ...string) {
	d.t.Helper()
	d.cmd = cmd
	d.cmd.Dir, d.cmd.Stdout, d.cmd.Stderr = d.dir, d.log, d.log
	d.cmd.WaitDelay = patience // for a git that outlives a killed daemon
	// The variables of a machine's own herald must not reach ours.
	d.cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "HERALD_") || strings.HasPrefix(v, "FAILPOINT")
	}), env...)
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		_ = d.cmd.Wait() // ProcessState says how it ended
		close(d.ended)
	}()
	d.t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it has ended already, where all went well
		<-d.ended
		if d.t.Failed() {
			d.t.Logf("log of %s (%v), %v:\n%s", d.cmd.Path, env, d.cmd.ProcessState, d.log)
		}
	})
}

// wait waits for the end of the process, and reports whether it was killed.
func (d *process) wait() (killed bool) {
	d.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-d.ended:
	case <-timer.C:
		d.t.Fatal("the daemon did not end")
	}
	status, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// stop ends the daemon as systemd would, and reports whether a failpoint was
// faster.
func (d *process) stop() (killed bool) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.t.Fatal(err)
	}
	if killed = d.wait(); !killed && d.cmd.ProcessState.ExitCode() != 0 {
		d.t.Errorf("the daemon ended with %v", d.cmd.ProcessState)
	}
	return killed
}

// kill ends the daemon as the kernel would.
func (d *process) kill() {
	d.t.Helper()
	if err := d.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.t.Fatal(err)
	}
	d.wait()
}

// view reads the store while no daemon runs.
func (p *place) view(fn func(state.Reader) error) {
	p.t.Helper()
	store, err := state.OpenReadOnly(p.path("data/herald.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := errors.Join(store.View(fn), store.Close()); err != nil {
		p.t.Fatal(err)
	}
}

// client talks to the daemon as the command line does.
func (p *place) client() *control.Client { return control.NewClient(p.path("data/herald.sock")) }

// await waits until the article is taken from the queue and as wanted, or until
// the daemon has ended.
func (d *process) await(id string, wanted func(state.Report) bool) {
	d.t.Helper()
	var last string
	err := d.poll(func(ctx context.Context) (bool, error) {
		st, err := d.client().Article(ctx, state.ArticleID(id))
		if err != nil {
			last = err.Error()
			return false, nil //nolint:nilerr // not there yet, or the daemon is not
		}
		last = fmt.Sprintf("%+v", st.Articles[0])
		_, err = os.Stat(d.path("data/queue/" + id)) // taken, and cleared away
		return errors.Is(err, fs.ErrNotExist) && wanted(st.Articles[0]), nil
	})
	if err != nil {
		d.t.Fatalf("%s is not as wanted: %v; last %s", id, err, last)
	}
}

// poll asks until the answer is yes, an error, or the daemon has ended.
func (d *process) poll(ask func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if ok, err := ask(ctx); ok || err != nil {
			return err
		}
		select {
		case <-d.ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// published says whether every delivery of a revision is published, and nothing
// about it is left to say.
func published(revision int) func(state.Report) bool {
	return func(r state.Report) bool {
		return r.Revision == revision && len(r.Deliveries) > 0 && !slices.ContainsFunc(r.Deliveries, func(d state.DeliveryReport) bool {
			return d.State != state.Published || d.Error != nil
		})
	}
}

// withdrawn says whether every delivery is withdrawn.
func withdrawn(r state.Report) bool {
	return !slices.ContainsFunc(r.Deliveries, func(d state.DeliveryReport) bool { return d.State != state.Withdrawn })
}
