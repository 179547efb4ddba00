package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/state"
)

// B22: what failed is completed later, and what is published is not touched.
func TestATargetThatFailsLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t, strings.Replace(twoTargets, "base: 300ms, max: 1s", "base: 1h, max: 1h", 1))
	p.bareRepo("remote.git")
	p.start()
	if err := os.Rename(p.path("remote.git"), p.path("unplugged.git")); err != nil {
		t.Fatal(err)
	}
	p.drop("a.md", "# 标题\n\n正文。\n")
	r := p.await("a", "partial with an error", func(r state.Report) bool {
		return r.State == state.ArticlePartial && delivery(r, "hugo").Error != nil
	})
	blog := delivery(r, "blog")
	if blog.State != state.Published || blog.Error != nil || blog.Attempts != 1 {
		t.Errorf("the blog is %+v", blog)
	}
	failed := delivery(r, "hugo")
	if failed.State != state.Queued || failed.Due == nil || !failed.Due.After(time.Now()) || failed.Error.Class == "" || failed.Error.Message == "" {
		t.Errorf("hugo is %+v, want queued, due later and with an error", failed)
	}
	out := p.want(3, "status").out
	for _, want := range []string{"partial_success", "published", failed.Error.Message, "next "} {
		if !strings.Contains(out, want) {
			t.Errorf("status does not say %q:\n%s", want, out)
		}
	}
	if out := p.want(3, "status", "--failed", "--json").out; strings.Contains(out, `"a"`) != r.NeedsPerson() {
		t.Errorf("--failed does not list what needs a person, and nothing else: %s", out)
	}

	if err := os.Rename(p.path("unplugged.git"), p.path("remote.git")); err != nil {
		t.Fatal(err)
	}
	if out := p.want(0, "retry", "--target", "hugo").out; !strings.Contains(out, "a → hugo: queued") {
		t.Errorf("retry says %q", out)
	}
	r = p.awaitState("a", state.ArticleSuccess)
	if again := delivery(r, "blog"); again.Attempts != 1 || !again.PublishedAt.Equal(*blog.PublishedAt) {
		t.Errorf("the blog was published again: %+v", again)
	}
	if hugo := delivery(r, "hugo"); hugo.Attempts != 2 || hugo.Error != nil || hugo.URL == "" {
		t.Errorf("hugo is %+v, want published at the second attempt", hugo)
	}
	if n := p.commits("a"); n != 1 {
		t.Errorf("the repository has %d commits of the article, want 1", n)
	}
	p.want(0, "status")
}

// commits counts the commits in the remote repository that bring an article.
func (p *place) commits(id string) int {
	p.t.Helper()
	return len(strings.Fields(p.git("--git-dir=remote.git", "log", "--format=%h", "main", "--", "content/posts/"+id)))
}

// B21: the status names article, platform, class, code, reason and next try.
func TestAHeldTargetIsNamedWithWhatToDo(t *testing.T) {
	t.Parallel()
	unauthorized := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer unauthorized.Close()
	p := newPlace(t, settings+`  - { name: blog, type: site, dir: site }
  - { name: hugo, type: git, repo: "`+unauthorized.URL+`/me/blog.git" }
`)
	p.start()
	p.drop("a.md", "# 标题\n\n正文。\n")
	r := p.await("a", "held up", func(r state.Report) bool {
		return delivery(r, "blog").State == state.Published && delivery(r, "hugo").Error != nil
	})
	hugo := delivery(r, "hugo")
	if hugo.State != state.Queued || hugo.Error.Kind != "unauthorized" || hugo.Error.Class != "permanent" || !strings.Contains(hugo.Hint, "herald retry --target hugo") {
		t.Errorf("hugo is %+v %+v, want queued, unauthorized and a hint", hugo, hugo.Error)
	}
	if hugo.Due == nil || !hugo.Due.After(time.Now()) {
		t.Errorf("hugo is due at %v, want at its next probe", hugo.Due)
	}
	targets := p.want(0, "targets").out
	var lines []string
	for line := range strings.Lines(targets) {
		lines = append(lines, line)
	}
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "blog ") || !strings.Contains(lines[1], " closed ") || !strings.HasPrefix(lines[2], "hugo ") {
		t.Fatalf("targets are not a line each below a header:\n%s", targets)
	}
	for _, want := range []string{"closed", "unauthorized", "1 article", "since", "herald retry --target hugo"} {
		if !strings.Contains(lines[2], want) {
			t.Errorf("the line of hugo does not say %q: %s", want, lines[2])
		}
	}
	if out := p.want(3, "status", "--failed").out; !strings.Contains(out, "unauthorized") {
		t.Errorf("--failed does not show it: %s", out)
	}
}

func TestABreakerThatOpensIsShown(t *testing.T) {
	t.Parallel()
	config := strings.NewReplacer(
		"consecutive: 0", "consecutive: 2, open_for: 1h", "base: 300ms", "base: 10ms",
		"remote.git", `"http://`+refusing(t)+`/blog.git"`,
	).Replace(twoTargets)
	p := newPlace(t, config)
	p.start()
	p.drop("a.md", "# 标题\n\n正文。\n")
	p.await("a", "kept back by the breaker", func(r state.Report) bool { return strings.Contains(delivery(r, "hugo").Hint, "breaker") })
	out := p.want(0, "targets").out
	for line := range strings.Lines(out) {
		switch name, _, _ := strings.Cut(line, " "); name {
		case "blog":
			if !strings.Contains(line, " closed ") {
				t.Errorf("the breaker of blog is not closed: %s", line)
			}
		case "hugo":
			if !strings.Contains(line, " open ") || !strings.Contains(line, "holds up 1 article since") {
				t.Errorf("the line of hugo does not tell of the open breaker: %s", line)
			}
		}
	}
	p.want(3, "status") // the blog has it, hugo not
}

// refusing is an address where nobody listens.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// git runs git on a repository and returns what it prints.
func (p *place) git(args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "git", args...)
	cmd.Dir = p.dir
	cmd.Env = append(slices.Clip(p.env), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	cmd.Stderr = io.Discard
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// bareRepo makes a repository to push to.
func (p *place) bareRepo(name string) {
	p.t.Helper()
	p.git("init", "--quiet", "--bare", "--initial-branch=main", name)
}
