package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/state"
)

func TestWithoutAConfigurationItRunsOnDefaults(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.env = append(p.env, "HERALD_HTTP_LISTEN=off")
	if r := p.want(1, "status"); !strings.Contains(r.err, "herald run") || !strings.Contains(r.err, p.path("herald-data/herald.db")) {
		t.Errorf("status before the first run says %q", r.err)
	}
	d := p.start()
	if out := p.want(0, "status").out; !strings.Contains(out, "no articles yet") || !strings.Contains(out, p.path("herald-data/queue")) {
		t.Errorf("status without articles says %q", out)
	}
	if out := p.want(0, "status", "--json").out; out != "{\n  \"articles\": []\n}\n" {
		t.Errorf("status --json without articles says %q", out)
	}
	if out := p.want(0, "status", "--failed").out; out != "nothing needs a person\n" {
		t.Errorf("status --failed without articles says %q", out)
	}
	if out := d.out.String(); !strings.Contains(out, p.path("herald-data/site/index.html")) {
		t.Errorf("run does not say where the blog is: %q", out)
	}
}

// B97: a second daemon on the same data ends with a clear line.
func TestASecondDaemonOnTheSameDataEnds(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	p.start()
	r := p.want(1, "run")
	if !strings.Contains(r.err, "another herald runs on this data directory") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("the second daemon says %q", r.err)
	}
	p.want(0, "status") // the first one is well
}

// B97: a daemon that hangs is told from one that is not there.
func TestStatusOfADaemonThatHangsEndsInAboutASecond(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	d := p.start()
	d.signal(syscall.SIGSTOP)
	defer d.signal(syscall.SIGCONT)
	began := time.Now()
	r := p.want(1, "status")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if !strings.Contains(r.err, "does not answer") || r.out != "" {
		t.Errorf("status says %q", r.err)
	}
	if r := p.want(1, "run"); !strings.Contains(r.err, "another herald") {
		t.Errorf("a second daemon says %q", r.err)
	}
}

// B14: a stop lets calls end, cuts short what does not, and loses nothing.
func TestAStopEndsWithinTheGrace(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer hanging.Close()
	defer close(release)
	p := newPlace(t, strings.NewReplacer("grace: 5s", "grace: 200ms", "remote.git", `"`+hanging.URL+`/blog.git"`).Replace(twoTargets))
	d := p.start()
	p.drop("a.md", "# 标题\n\n正文。\n")
	receive(t, arrived)
	began := time.Now()
	d.signal(syscall.SIGTERM)
	d.hear("STOPPING=1")
	d.wait()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if _, err := os.Stat(p.socket()); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if log := d.log.String(); !strings.Contains(log, "calls under way are cut short") || !strings.Contains(log, "msg=stopped") {
		t.Errorf("the log does not tell of the stop:\n%s", log)
	}
	p.herald("status", "a") // the store is whole
	p.start()
	p.await("a", "known after the stop", func(r state.Report) bool { return delivery(r, "blog").State == state.Published })
}

func TestSystemdIsToldOfStartLifeAndStop(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	p.env = append(p.env, "WATCHDOG_USEC=300000")
	d := p.start()
	d.hear("WATCHDOG=1")
	d.hear("WATCHDOG=1")
	d.signal(syscall.SIGTERM)
	d.hear("STOPPING=1")
	d.wait()
}

func TestATakenPortCostsOnlyTheHealthPage(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := newPlace(t, strings.Replace(blogOnly, `listen: ""`, "listen: "+l.Addr().String(), 1))
	d := p.start()
	d.logged("health page is off")
	p.drop("a.md", "# 标题\n\n正文。\n")
	p.awaitState("a", state.ArticleSuccess)
}

func TestTheHealthPageAnswers(t *testing.T) {
	t.Parallel()
	address := refusing(t)
	p := newPlace(t, strings.Replace(blogOnly, `listen: ""`, "listen: "+address, 1))
	p.start()
	resp, err := http.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // only the status counts
	if resp.StatusCode != http.StatusOK {
		t.Errorf("GET /healthz answered %d", resp.StatusCode)
	}
}

func TestAChangedConfigurationComesIntoForceAndAnInvalidOneDoesNot(t *testing.T) {
	t.Parallel()
	config := strings.NewReplacer("base: 300ms, max: 1s", "base: 1h, max: 1h", "remote.git", `"http://`+refusing(t)+`/blog.git"`).Replace(twoTargets)
	p := newPlace(t, config)
	d := p.start()
	p.drop("a.md", "# 标题\n\n正文。\n")
	p.await("a", "waiting for an hour", func(r state.Report) bool {
		hugo := delivery(r, "hugo")
		return hugo.Attempts == 1 && hugo.Due != nil && time.Until(*hugo.Due) > 50*time.Minute
	})

	p.write("herald.yaml", strings.Replace(config, "strategy: fixed", "strategi: fixed", 1))
	d.logged("configuration not reloaded")
	d.logged("did you mean defaults.retry.strategy?")
	p.write("valid.yaml", config) // the command line needs one too
	p.want(0, "--config", "valid.yaml", "retry", "a", "--target", "hugo")
	p.await("a", "waiting for an hour again", func(r state.Report) bool {
		hugo := delivery(r, "hugo")
		return hugo.Attempts == 2 && hugo.Due != nil && time.Until(*hugo.Due) > 50*time.Minute
	})

	p.write("herald.yaml", strings.NewReplacer("base: 1h, max: 1h", "base: 20ms, max: 20ms").Replace(config))
	d.signal(syscall.SIGHUP)
	d.logged("configuration reloaded")
	p.want(0, "retry", "a", "--target", "hugo")
	p.await("a", "tried often", func(r state.Report) bool { return delivery(r, "hugo").Attempts > 4 })
	if blog := delivery(p.await("a", "there", func(state.Report) bool { return true }), "blog"); blog.Attempts != 1 {
		t.Errorf("the blog was called %d times", blog.Attempts)
	}
}

func TestSIGHUPReadsTheConfigurationAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	d := p.start()
	d.signal(syscall.SIGHUP)
	d.logged(`msg="configuration reloaded" applied=[] needs_restart=[]`)
}

func TestWatchPrintsNewsAndOutlivesARestart(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	d := p.start()
	p.drop("a.md", "---\ntitle: 甲\npublish_at: 2099-01-01 09:00\n---\n正文。\n")
	p.awaitState("a", state.ArticleScheduled)
	w := p.follow("status", "--watch")
	w.says("scheduled")
	d.stop()
	w.says("herald is not running")
	p.start()
	p.want(0, "cancel", "a")
	w.says("canceled")
	if n := strings.Count(w.out.String(), "scheduled"); n > 3 {
		t.Errorf("what did not change is printed %d times:\n%s", n, w.out)
	}
	w.signal(syscall.SIGINT)
	receive(t, w.ended)
	if code := w.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with %d: %s", code, w.log)
	}
}

// follow runs a command that goes on until it is told to end.
func (p *place) follow(args ...string) *process {
	p.t.Helper()
	w := p.command(args...)
	p.t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it is gone already, where all went well
		receive(p.t, w.ended)
	})
	return w
}

// says waits until a command has printed text.
func (d *process) says(text string) {
	d.t.Helper()
	d.grow(d.out, text, fmt.Sprintf("printed %q", text))
}

func TestMetricsCountWhatHappened(t *testing.T) {
	t.Parallel()
	address := refusing(t)
	p := newPlace(t, strings.Replace(blogOnly, `listen: ""`, "listen: "+address, 1))
	p.start()
	p.drop("a.md", "# 标题\n\n正文。\n")
	p.awaitState("a", state.ArticleSuccess)
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`herald_delivery_moves_total{class="",target="blog",verb="land"} 1`,
		`herald_quality_checks_total{by="basic",degraded="false",pass="true"} 1`,
		`herald_call_seconds_count{op="publish",target="blog"} 1`,
		`herald_target_waiting{target="blog"} 0`,
		`herald_target_breaker_open{target="blog"} 0`,
		`herald_target_held{target="blog"} 0`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("GET /metrics lacks %s", want)
		}
	}
}
