package git

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"herald/platforms"
	"herald/platforms/platformtest"
)

// realGit is the path of git.
var realGit = func() string {
	path, err := exec.LookPath("git")
	if err != nil {
		panic("these tests need git: " + err.Error())
	}
	return path
}()

// remote is a real bare repository.
type remote struct {
	t   testing.TB
	dir string
}

// newRemote makes a repository whose branch main has one commit.
func newRemote(t testing.TB) remote {
	t.Helper()
	r := emptyRemote(t)
	const history = "commit refs/heads/main\ncommitter somebody <s@localhost> 1700000000 +0000\n" +
		"data 12\nfirst commit\nM 644 inline README.md\ndata 6\na site\n"
	runWith(t, r.dir, history, "fast-import", "--quiet")
	return r
}

func emptyRemote(t testing.TB) remote {
	t.Helper()
	r := remote{t, filepath.Join(t.TempDir(), "site.git")}
	run(t, "", "init", "--quiet", "--bare", "--template=", "--initial-branch=main", r.dir)
	return r
}

// run executes git with nothing of the machine's configuration.
func run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return runWith(t, dir, "", args...)
}

func runWith(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), realGit, args...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
		"GIT_AUTHOR_NAME=somebody", "GIT_AUTHOR_EMAIL=s@localhost", "GIT_COMMITTER_NAME=somebody", "GIT_COMMITTER_EMAIL=s@localhost")
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (r remote) git(args ...string) string {
	r.t.Helper()
	return run(r.t, r.dir, args...)
}

// commit pushes one file from a clone of somebody else.
func (r remote) commit(file, content, message string) {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "other")
	run(r.t, "", "clone", "--quiet", r.dir, dir)
	run(r.t, dir, "checkout", "--quiet", "-B", "main")
	path := filepath.Join(dir, file)
	write(r.t, path, content)
	run(r.t, dir, "add", "--all", "--force")
	run(r.t, dir, "commit", "--quiet", "--message", message)
	run(r.t, dir, "push", "--quiet", "origin", "main")
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	// A program that another one is started beside while it is written stays open
	// for writing there, and cannot be executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// hook installs a server hook.
func (r remote) hook(name, script string) {
	r.t.Helper()
	write(r.t, filepath.Join(r.dir, "hooks", name), "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(filepath.Join(r.dir, "hooks", name), 0o700); err != nil {
		r.t.Fatal(err)
	}
}

// files lists what is on main.
func (r remote) files() []string {
	r.t.Helper()
	if r.git("for-each-ref", "refs/heads/main") == "" {
		return nil
	}
	return strings.FieldsFunc(r.git("ls-tree", "-r", "-z", "--name-only", "main"), func(c rune) bool { return c == 0 })
}

func (r remote) read(file string) string {
	r.t.Helper()
	return r.git("show", "main:"+file)
}

// pages returns the text of every page below folder.
func (r remote) pages(folder string) []string {
	var texts []string
	for _, file := range r.files() {
		if strings.HasPrefix(file, folder) && strings.HasSuffix(file, ".md") {
			texts = append(texts, r.read(file))
		}
	}
	return texts
}

// keys returns the Publish-Key of each commit on main that has one.
func (r remote) keys() []string {
	r.t.Helper()
	return strings.Fields(r.git("log", "--format=%(trailers:key=Publish-Key,valueonly)", "main"))
}

// serve offers the repository over git's smart HTTP, to whoever has the token.
func (r remote) serve(username, token string) *httptest.Server {
	r.t.Helper()
	backend := filepath.Join(strings.TrimSpace(run(r.t, "", "--exec-path")), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		r.t.Skipf("git has no HTTP server here: %v", err)
	}
	h := &cgi.Handler{Path: backend, Env: []string{
		"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.receivepack", "GIT_CONFIG_VALUE_0=true",
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if u, p, _ := req.BasicAuth(); u != username || p != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="site"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, req)
	}))
	r.t.Cleanup(s.Close)
	return s
}

// wrapper is a program that stands before git and breaks one call of many.
type wrapper struct {
	t       testing.TB
	program string // stands for git
	state   string
	fired   *os.File // the script writes here when the fault strikes
	seen    *os.File // and waits here until that is known

	mu     sync.Mutex
	struck chan struct{}
}

var _ platformtest.Faults = (*wrapper)(nil)

// script uses the shell's own words where it can: it runs before every git.
const script = `#!/bin/sh
state=%[1]s
read -r n <$state/calls; n=$((n + 1)); echo $n >$state/calls
read -r at <$state/at
echo "$@" >>$state/argv
struck() { echo struck >$state/fired; read -r _ <$state/seen; }
if [ -e $state/down ]; then
	echo "fatal: unable to access: Connection refused" >&2; exit 128
fi
if [ "$1" = push ] && [ -e $state/before-push ]; then sh $state/before-push >$state/before-push.out 2>&1 3>&-; fi
if [ "$1" = push ] && [ -e $state/answer ]; then cat $state/answer >&2; exit 128; fi
if [ $n != $at ]; then exec %[2]s "$@"; fi
read -r mode <$state/mode
case $mode in
"not sent") struck; echo "fatal: unable to access: Connection refused" >&2; exit 128 ;;
echo) struck; env >&2; echo "$@" >&2; exit 128 ;;
esac
%[2]s "$@" >/dev/null 2>&1
if [ "$mode" = crash ]; then >$state/down; fi
struck
if [ "$mode" = hang ]; then sleep 1000; fi
echo "fatal: the remote end hung up unexpectedly" >&2
exit 128
`

func newWrapper(t testing.TB) *wrapper {
	t.Helper()
	dir := t.TempDir()
	w := &wrapper{t: t, program: filepath.Join(dir, "git"), state: filepath.Join(dir, "state")}
	write(t, w.program, fmt.Sprintf(script, w.state, realGit))
	if err := os.Chmod(w.program, 0o700); err != nil {
		t.Fatal(err)
	}
	w.put("calls", "0")
	w.put("at", "0")
	w.put("mode", "")
	w.fired, w.seen = fifo(t, filepath.Join(w.state, "fired")), fifo(t, filepath.Join(w.state, "seen"))
	go w.listen()
	return w
}

// fifo makes a pipe with a name. Opened for both directions it can be closed
// while a read waits.
func fifo(t testing.TB, path string) *os.File {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func (w *wrapper) put(name, value string) { write(w.t, filepath.Join(w.state, name), value+"\n") }

func (w *wrapper) Arm(n int, m platformtest.Mode) <-chan struct{} {
	w.t.Helper()
	w.put("calls", "0")
	w.put("at", strconv.Itoa(n))
	w.put("mode", m.String())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.struck = make(chan struct{})
	return w.struck
}

// listen closes the channel of the fault that strikes, until the test is over.
func (w *wrapper) listen() {
	for {
		if _, err := w.fired.Read(make([]byte, 16)); err != nil {
			return
		}
		w.mu.Lock()
		close(w.struck)
		w.mu.Unlock()
		fmt.Fprintln(w.seen)
	}
}

func (w *wrapper) Disarm() {
	w.put("at", "0")
	if err := os.RemoveAll(filepath.Join(w.state, "down")); err != nil {
		w.t.Error(err)
	}
}

func (w *wrapper) Calls() int {
	text, err := os.ReadFile(filepath.Join(w.state, "calls"))
	if err != nil {
		w.t.Error(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		w.t.Error(err)
	}
	return n
}

// answer makes every push end with what git says for code.
func (w *wrapper) answer(code string) {
	text := "fatal: the moon is full"
	for _, r := range rows {
		if r.code == code {
			text = "fatal: " + r.text
		}
	}
	w.put("answer", text)
}

// config is a site of the remote's main branch.
func (r remote) config(flavor string) Config {
	return Config{Repo: r.dir, Flavor: flavor, SiteURL: "https://example.com/blog/"}
}

func world(r remote, cfg Config) *platformtest.World {
	w := newWrapper(r.t)
	return &platformtest.World{
		Open: func(env platforms.Env) (platforms.Platform, error) {
			c, err := New(cfg, env)
			if err != nil {
				return nil, err
			}
			c.repo.program = w.program
			return c, nil
		},
		Posts:  func() []string { return r.pages(flavors[cfg.Flavor].content) },
		Faults: w,
		Answer: w.answer,
	}
}
