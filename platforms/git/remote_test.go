package git

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/platforms"
	"herald/platforms/platformtest"
)

func TestARemoteThatCannotBeUsed(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	answering := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	checkedOut := filepath.Join(t.TempDir(), "work")
	run(t, "", "clone", "--quiet", newRemote(t).dir, checkedOut)
	tests := []struct {
		name   string
		config func(*Config)
		want   platforms.Kind
		code   string
	}{
		{"down", func(c *Config) { c.Repo = down.URL }, platforms.Unavailable, "refused"},
		{"no such folder", func(c *Config) { c.Repo = "/no/such/repository" }, platforms.Unauthorized, "no-repository"},
		{"wrong token", func(c *Config) { c.Repo, c.Token = newRemote(t).serve(testUser, testToken).URL+"/site.git", "wrong" }, platforms.Unauthorized, "no-credential"},
		{"no token", func(c *Config) { c.Repo = newRemote(t).serve(testUser, testToken).URL + "/site.git" }, platforms.Unauthorized, "no-credential"},
		{"forbidden", func(c *Config) { c.Repo = answering(http.StatusForbidden) }, platforms.Unauthorized, "http-403"},
		{"not there", func(c *Config) { c.Repo = answering(http.StatusNotFound) }, platforms.Unauthorized, "no-repository"},
		{"slow down", func(c *Config) { c.Repo = answering(http.StatusTooManyRequests) }, platforms.RateLimited, "http-429"},
		{"ill", func(c *Config) { c.Repo = answering(http.StatusServiceUnavailable) }, platforms.Unavailable, "no-access"},
		{"no certificate", func(c *Config) {
			s := httptest.NewTLSServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			c.Repo = s.URL
		}, platforms.Unauthorized, "certificate"},
		{"no such branch", func(c *Config) { c.Branch = "master" }, platforms.Unauthorized, codeNoBranch},
		{"checked out by somebody", func(c *Config) { c.Repo = checkedOut }, platforms.Unauthorized, "checked-out"},
		{"ssh refuses", func(c *Config) {
			c.Repo, c.SSHCommand = "git@example.com:x.git", "sh -c 'echo \"git@example.com: Permission denied (publickey).\" >&2; exit 255'"
		}, platforms.Unauthorized, "permission-denied"},
		{"ssh is not there", func(c *Config) { c.Repo, c.SSHCommand = "git@example.com:x.git", "/no/such/ssh" }, platforms.Unauthorized, "ssh-command"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := newRemote(t).config(hugo)
			tt.config(&cfg)
			s := open(t, cfg)
			p := s.post("hello", "Hello", "text")
			_, published := s.Publish(t.Context(), p, s.memo)
			e, ok := published.(*platforms.Error) //nolint:errorlint // the contract: nothing wraps it
			if !ok || e.Kind != tt.want || e.Code != tt.code {
				t.Errorf("%#v: %v; want %s, code %s", published, published, tt.want, tt.code)
			}
			if tt.code == "checked-out" {
				return // reading works
			}
			if _, err := s.Find(t.Context(), p, time.Time{}, s.memo); platforms.KindOf(err) != tt.want {
				t.Errorf("find: %v, want %s", err, tt.want)
			}
			if err := s.Probe(t.Context()); platforms.KindOf(err) != tt.want {
				t.Errorf("probe: %v, want %s", err, tt.want)
			}
		})
	}
}

func TestTheTokenIsNeitherOnACommandLineNorOnTheDisk(t *testing.T) {
	r := newRemote(t)
	cfg := r.config(hugo)
	cfg.Repo = r.serve(testUser, testToken).URL + "/site.git"
	cfg.Username, cfg.Token = testUser, testToken
	s := open(t, cfg)
	w := newWrapper(t)
	s.repo.program = w.program
	s.mustPublish(s.post("hello", "Hello", "text"))
	basic := base64.StdEncoding.EncodeToString([]byte(testUser + ":" + testToken))
	for _, secret := range []string{testToken, basic} {
		if strings.Contains(w.argv(), secret) {
			t.Errorf("%q is on a command line:\n%s", secret, w.argv())
		}
		err := filepath.Walk(s.env.Dir, func(path string, info os.FileInfo, err error) error {
			if err != nil || info.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			if strings.Contains(string(content), secret) {
				t.Errorf("%s holds %q", path, secret)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestTheUsersGitConfigurationHasNoSay(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, ".gitconfig"), "[commit]\n\tgpgSign = true\n[user]\n\tsigningKey = none\n[core]\n\tautocrlf = true\n\thooksPath = /no\n"+
		"[url \"/nowhere/\"]\n\tinsteadOf = /\n[push]\n\tdefault = nothing\n[fetch]\n\tprune = true\n[init]\n\tdefaultBranch = trunk\n")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_WORK_TREE", "/nowhere")
	t.Setenv("GIT_INDEX_FILE", "/nowhere")
	t.Setenv("LANGUAGE", "zh_CN")
	r := newRemote(t)
	s := open(t, r.config(hugo))
	s.mustPublish(s.post("hello", "Hello", "one\ntwo"))
	if page := r.read("content/posts/hello/index.md"); strings.Contains(page, "\r") || !strings.Contains(page, "one\ntwo") {
		t.Errorf("page:\n%q", page)
	}
}

func TestARepositoryAroundTheCloneIsNotTouched(t *testing.T) {
	outer := t.TempDir()
	run(t, outer, "init", "--quiet", "--initial-branch=main")
	work := filepath.Join(outer, "work.txt")
	write(t, work, "committed")
	run(t, outer, "add", "work.txt")
	run(t, outer, "commit", "--quiet", "--message=work")
	write(t, work, "not committed")
	before := run(t, outer, "for-each-ref")

	cfg := newRemote(t).config(hugo)
	env := open(t, cfg).env
	env.Dir = filepath.Join(outer, "herald-data", "blog")
	s := reopen(t, cfg, env)
	s.mustPublish(s.post("hello", "Hello", "text"))
	// A clone that git does not take for one: looking for a repository, it would
	// go on in the folders above.
	write(t, s.repo.dir+"/.git/HEAD", "garbage")
	if _, err := s.Find(t.Context(), s.post("hello", "Hello", "text"), time.Time{}, s.memo); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(work); err != nil || string(text) != "not committed" {
		t.Errorf("work.txt: %q, %v", text, err)
	}
	if after := run(t, outer, "for-each-ref"); after != before {
		t.Errorf("references of the outer repository: %s, were %s", after, before)
	}
}

func TestTheRepositorysOwnFilesHaveNoSay(t *testing.T) {
	r := newRemote(t)
	r.commit(".gitignore", "*.png\ncontent/\n", "ignore")
	r.commit(".gitattributes", "*.png filter=missing\n", "attributes")
	s := open(t, r.config(hugo))
	p, err := s.Render(platformtest.Samples(t).One)
	if err != nil {
		t.Fatal(err)
	}
	p.Key, p.Revision = testKey, 1
	s.mustPublish(p)
	if n := len(r.files()); n != 6 { // three of others, page, two pictures
		t.Errorf("%d files: %v", n, r.files())
	}
}

func TestASymbolicLinkLeadsNowhere(t *testing.T) {
	outside := t.TempDir()
	for name, target := range map[string]string{"outside": outside, "inside .git": ".git/hooks", "elsewhere in the site": "other"} {
		t.Run(name, func(t *testing.T) {
			r := newRemote(t)
			work := filepath.Join(t.TempDir(), "work")
			run(t, "", "clone", "--quiet", r.dir, work)
			if err := os.Symlink(target, filepath.Join(work, "content")); err != nil {
				t.Fatal(err)
			}
			run(t, work, "add", "content")
			run(t, work, "commit", "--quiet", "--message=link")
			run(t, work, "push", "--quiet")
			s := open(t, r.config(hugo))
			if _, err := s.Publish(t.Context(), s.post("hello", "Hello", "text"), s.memo); err == nil {
				t.Error("published through a link")
			}
			if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
				t.Errorf("written outside: %v, %v", left, err)
			}
			if len(r.keys()) != 0 {
				t.Errorf("commits: %v", r.keys())
			}
		})
	}
}

func TestASecondRepositoryUnderTheSameNameReplacesTheFirst(t *testing.T) {
	first, second := newRemote(t), newRemote(t)
	s := open(t, first.config(hugo))
	s.mustPublish(s.post("hello", "Hello", "text"))
	next := reopen(t, second.config(hugo), s.env)
	next.mustPublish(next.post("world", "World", "text"))
	if got, want := second.files(), []string{"README.md", "content/posts/world/index.md"}; !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
	empty := emptyRemote(t)
	last := reopen(t, empty.config(hugo), s.env)
	last.mustPublish(last.post("alone", "Alone", "text"))
	if got := empty.files(); len(got) != 1 {
		t.Errorf("files %v: an old history was pushed into an empty repository", got)
	}
}
