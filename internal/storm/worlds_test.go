package storm

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"herald/platforms/platformtest"
)

// world is one platform, seen from the outside.
type world interface {
	// target is the configuration of a target on it.
	target() string
	// posts returns the title of every copy of an article that is there.
	posts(id string) []string
	// surplus says what was done more often than revisions of one article need;
	// empty if nothing was. crashes is how often herald was killed meanwhile.
	surplus(id string, revisions, crashes int) string
}

// worlds are the platforms that the program is proved on: every adapter that has
// a simulator, or the real thing.
var worlds = []struct {
	name string
	make func(t testing.TB) world
	// step is the distance between two failpoints in a run that does not try all.
	step               int
	updates, withdraws bool // what it can do
}{
	{"loopback", newLoopback, 1, true, true},
	{"site", newSite, 1, true, true},
	{"git", newGit, 5, true, true},
	{"wechat draft", func(t testing.TB) world { return newWechat(t, "draft") }, 4, true, true},
	{"wechat publish", func(t testing.TB) world { return newWechat(t, "publish") }, 6, false, true},
	{"weibo", newWeibo, 4, false, false},
	{"xiaohongshu", newXiaohongshu, 4, false, false},
}

// loopback is a platform that does nothing against duplicates, on a real socket.
type loopback struct {
	server *platformtest.LoopbackServer
	url    string
}

func newLoopback(t testing.TB) world {
	s := platformtest.NewLoopbackServer()
	s.Token = "loopback-token"
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return &loopback{s, h.URL}
}

func (l *loopback) target() string {
	return fmt.Sprintf("  - { name: loopback, type: loopback, base_url: %q, token: %s }\n", l.url, l.server.Token)
}

func (l *loopback) posts(id string) (titles []string) {
	for _, p := range l.server.Posts() {
		if p.Slug == id {
			titles = append(titles, p.Title)
		}
	}
	return titles
}

// surplus: a picture whose upload was answered is in the Memo; a crash between
// answer and Memo repeats one.
func (l *loopback) surplus(_ string, _, crashes int) string {
	if n, most := l.server.Calls("POST /media"), l.server.Media()+crashes; n > most {
		return fmt.Sprintf("%d uploads of %d pictures, with %d crashes", n, l.server.Media(), crashes)
	}
	return ""
}

// site is a blog in a folder.
type site struct{ dir string }

func newSite(t testing.TB) world { return &site{t.TempDir()} }

func (s *site) target() string {
	return fmt.Sprintf("  - { name: site, type: site, dir: %q }\n", s.dir)
}

// posts: a copy is a line in the index, or a page that is not listed there.
func (s *site) posts(id string) (titles []string) {
	index := readOrEmpty(filepath.Join(s.dir, "index.html"))
	page := readOrEmpty(filepath.Join(s.dir, "posts", id, "index.html"))
	link := fmt.Sprintf(`href="posts/%s/"`, id)
	for range max(strings.Count(index, link), min(1, len(page))) {
		titles = append(titles, between(page, "<title>", " · herald</title>"))
	}
	return titles
}

func (s *site) surplus(id string, _, _ int) string {
	pages, err := filepath.Glob(filepath.Join(s.dir, "posts", id+"*"))
	if err != nil || len(pages) > 1 {
		return fmt.Sprintf("folders %v, %v", pages, err)
	}
	return ""
}

// git is a bare repository that posts are pushed to.
type git struct {
	t   testing.TB
	dir string
}

func newGit(t testing.TB) world {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	g := &git{t, t.TempDir()}
	g.git("init", "--quiet", "--bare", "--initial-branch=main")
	return g
}

func (g *git) target() string {
	return fmt.Sprintf("  - { name: git, type: git, repo: %q }\n", g.dir)
}

func (g *git) git(args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	if err != nil {
		g.t.Errorf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

func (g *git) posts(id string) (titles []string) {
	if g.commits(id) == 0 {
		return nil
	}
	for file := range strings.Lines(g.git("ls-tree", "-r", "--name-only", "main", "content/posts/"+id+"/")) {
		if strings.HasSuffix(file, ".md\n") {
			titles = append(titles, strings.Trim(between(g.git("show", "main:"+strings.TrimSpace(file)), "title: ", "\n"), `"`))
		}
	}
	return titles
}

// commits is how many commits touch an article.
func (g *git) commits(id string) int {
	if g.git("branch", "--list", "main") == "" {
		return 0
	}
	return strings.Count(g.git("log", "--format=%H", "main", "--", "content/posts/"+id), "\n")
}

func (g *git) surplus(id string, revisions, _ int) string {
	if n := g.commits(id); n > revisions {
		return fmt.Sprintf("%d commits for %d changes", n, revisions)
	}
	return ""
}

func readOrEmpty(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

// between returns what stands between two marks, empty if they do not.
func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, found := strings.Cut(text, to)
	if !found {
		return ""
	}
	return text
}
