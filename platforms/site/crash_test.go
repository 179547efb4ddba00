package site

import (
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"herald/platforms"
	"herald/platforms/platformtest"
)

var errFault = errors.New("the disk was pulled out")

// faultyDisk breaks the changes on the disk that a blog makes.
type faultyDisk struct {
	mu     sync.Mutex
	n      int
	mode   platformtest.Mode
	calls  int
	struck chan struct{}
	dead   bool
}

var _ platformtest.Faults = (*faultyDisk)(nil)

// Arm makes change number n go wrong.
func (d *faultyDisk) Arm(n int, m platformtest.Mode) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n, d.mode, d.calls, d.dead, d.struck = n, m, 0, false, make(chan struct{})
	return d.struck
}

// Disarm lets every change through again.
func (d *faultyDisk) Disarm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n, d.dead = 0, false
}

// Calls returns the number of changes since Arm.
func (d *faultyDisk) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

func (d *faultyDisk) step(do func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errFault
	}
	d.calls++
	if d.calls != d.n {
		return do()
	}
	close(d.struck)
	switch d.mode {
	case platformtest.NotSent, platformtest.Echo:
		return errFault
	case platformtest.Hang:
		return do() // a disk does not hang; the context ends meanwhile
	case platformtest.Crash:
		d.dead = true
	}
	return errors.Join(do(), errFault)
}

func TestSuite(t *testing.T) {
	platformtest.Run(t, platformtest.Case{
		Type: platform,
		New: func(t testing.TB) *platformtest.World {
			dir, disk := filepath.Join(t.TempDir(), "blog"), &faultyDisk{}
			return &platformtest.World{
				Open: func(env platforms.Env) (platforms.Platform, error) {
					c, err := New(Config{Dir: dir}, env)
					if err != nil {
						return nil, err
					}
					c.step = disk.step
					return c, nil
				},
				Posts:  func() []string { return readPosts(t, dir) },
				Faults: disk,
				Uploads: func() int {
					images, err := filepath.Glob(filepath.Join(dir, "posts/*/*.png"))
					if err != nil {
						t.Fatal(err)
					}
					return len(images)
				},
			}
		},
	})
}

// readPosts returns the text of the pages that a reader of the blog finds.
func readPosts(t testing.TB, dir string) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(dir, "posts/*/index.html"))
	if err != nil {
		t.Fatal(err)
	}
	var posts []string
	for _, page := range pages {
		posts = append(posts, mainText(t, page))
	}
	return posts
}

// mainText returns the text of a page's articles.
func mainText(t testing.TB, page string) string {
	t.Helper()
	var text strings.Builder
	for n := range parsePage(t, page).Descendants() {
		if n.Type != html.ElementNode || n.Data != "article" {
			continue
		}
		for d := range n.Descendants() {
			if d.Type == html.TextNode {
				text.WriteString(d.Data)
			}
		}
	}
	return text.String()
}

func parsePage(t testing.TB, page string) *html.Node {
	t.Helper()
	f, err := os.Open(page)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	root, err := html.Parse(f)
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	return root
}

// crashes calls look after a crash at each change on the disk that publishing p
// makes, on a blog that already holds others.
func crashes(t *testing.T, p platforms.Post, look func(t *testing.T, c *Client, when int)) {
	t.Helper()
	for n := 1; ; n++ {
		disk := &faultyDisk{}
		c := open(t, Config{})
		mustPublish(t, c, newPost("b", 1, "go"), newPost("c", 3, "go"))
		c.step = disk.step
		disk.Arm(n, platformtest.Crash)
		_, err := c.Publish(t.Context(), p, nil)
		disk.Disarm()
		if disk.Calls() < n {
			if n == 1 || err != nil {
				t.Fatalf("publishing made %d changes and ended with %v", disk.Calls(), err)
			}
			return
		}
		if err == nil {
			t.Fatalf("crash at change %d was not noticed", n)
		}
		look(t, c, n)
	}
}

func TestNoCrashLeavesHalfAFile(t *testing.T) {
	p := withImage(t, newPost("a", 2, "go", "new"), "fig.png", "pixels")
	crashes(t, p, func(t *testing.T, c *Client, when int) {
		for _, name := range files(t, c.dir) {
			content := read(t, c, name)
			switch filepath.Ext(name) {
			case ".html":
				if !strings.HasSuffix(content, "</html>\n") {
					t.Errorf("crash at change %d: %s ends with %q", when, name, content[max(0, len(content)-20):])
				}
			case ".xml":
				if err := xml.Unmarshal([]byte(content), new(atomFeed)); err != nil {
					t.Errorf("crash at change %d: %s: %v", when, name, err)
				}
			case ".png":
				if content != "pixels" {
					t.Errorf("crash at change %d: %s holds %q", when, name, content)
				}
			}
		}
	})
}

func TestAPublicationThatIsNeverRetriedIsTidiedUpByTheNext(t *testing.T) {
	p := withImage(t, newPost("a", 2, "go", "new"), "fig.png", "pixels")
	crashes(t, p, func(t *testing.T, c *Client, when int) {
		found, err := c.Find(t.Context(), p, p.Date, nil)
		if err != nil {
			t.Fatal(err)
		}
		mustPublish(t, c, newPost("d", 4, "go"))
		var left bool
		for _, name := range files(t, c.dir) {
			left = left || strings.HasPrefix(name, "posts/a/") || strings.HasPrefix(name, "tags/new/")
		}
		if want := found.Outcome == platforms.Present; left != want {
			t.Errorf("crash at change %d: found %+v, but files are left: %v", when, found, left)
		}
		checkLinks(t, c.dir)
	})
}

func TestTemporaryFilesOfACrashAreRemoved(t *testing.T) {
	c := open(t, Config{})
	mustPublish(t, c, newPost("a", 1))
	left := filepath.Join(c.dir, tempDir, ".index.html123")
	if err := os.WriteFile(left, []byte("<!doct"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, c, newPost("b", 2))
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary file is still there: %v", err)
	}
}
