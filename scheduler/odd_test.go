package scheduler

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herald/state"
)

// within fails the test if f does not end soon: a look must never wait for what
// somebody put in the folder.
func within(t *testing.T, f func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the look is blocked")
	}
}

func TestWhatIsNoRegularFileDoesNotBlockTheQueue(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a pipe": func(path string) error { return unix.Mkfifo(path, 0o666) },
		"a socket": func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
		"a device": func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			t.Chdir(r.dir) // the path of a socket must be short
			if err := make("x.md"); err != nil {
				t.Skipf("cannot be made here: %v", err)
			}
			var reason string
			within(t, func() { reason = r.refused("x.md") })
			if !strings.Contains(reason, "x.md") || !strings.Contains(reason, "; ") {
				t.Errorf("reason = %s, want file, fault and remedy", reason)
			}
		})
	}
}

func TestAPipeInAFolderDoesNotBlockTheQueue(t *testing.T) {
	r := newRig(t)
	r.drop("x/notes.txt", "text")
	r.must(unix.Mkfifo(r.path("x/index.md"), 0o666))
	r.drop("y/index.md", text("Y", "text"))
	r.must(unix.Mkfifo(r.path("y/pipe"), 0o666))
	within(t, r.settle)
	r.wantArticles("y")
	if reason := r.reason("x"); !strings.Contains(reason, "x/index.md") {
		t.Errorf("reason = %s, want one that names the pipe", reason)
	}
}

func TestAPipeAsPictureDoesNotBlockTheQueue(t *testing.T) {
	r := newRig(t)
	r.drop("x.md", text("X", "![](pipe.png)"))
	r.must(unix.Mkfifo(r.path("pipe.png"), 0o666))
	within(t, func() {
		if reason := r.refused("x.md"); !strings.Contains(reason, "pipe.png") {
			t.Errorf("reason = %s, want one that names the pipe", reason)
		}
	})
}

func TestNamesMayBeAnything(t *testing.T) {
	for what, name := range map[string]string{
		"a newline":                    "two\nlines.md",
		"bytes that are no UTF-8":      "\xc4\xe3\xba\xc3.md",
		"quotes and blanks":            `a "b" 'c' $(d) ; e.md`,
		"only punctuation":             "!!!.md",
		"a name as long as they go":    strings.Repeat("长", 84) + ".md",
		"an escape sequence":           "\x1b[31mred.md",
		"the name of herald's folders": "done.md",
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.drop(name, text("T", "text"))
			r.settle()
			r.publish()
			if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"text"}) {
				t.Errorf("published %q, want the text\n%s", got, r.log)
			}
			if exists(r.path(name)) {
				t.Error("it is still in the queue")
			}
			r.drop(name, "no title")
			r.settle()
			r.drop(name, "no title, again")
			r.settle()
			kept, reasons := 0, 0
			for file, content := range r.files() {
				switch {
				case strings.HasPrefix(content, "no title"):
					kept++
				case strings.HasSuffix(file, ".reason.txt") && strings.Contains(content, "has no title"):
					reasons++
				}
			}
			if kept != 2 || reasons != 2 {
				t.Errorf("%d files and %d reasons kept, want 2 of each: %q\n%s", kept, reasons, r.files(), r.log)
			}
		})
	}
}

func TestAFolderWithANameThatIsNoUTF8IsPublished(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{
		"\xc4\xe3/\xba\xc3.md": text("T", "![](a.png)"), "\xc4\xe3/a.png": picture(1), "\xc4\xe3/\xb5\xc4.txt": "kept",
	})
	r.settle()
	r.publish()
	if posts := r.accounts["blog"].posts; len(posts) != 1 || len(posts[0].Images) != 1 {
		t.Errorf("posts = %+v, want one with its image\n%s", posts, r.log)
	}
}

func TestPruningKeepsAnArticleThatIsDroppedAgainMeanwhile(t *testing.T) {
	r := newRig(t)
	r.drop("a.md", text("A", "one"))
	r.settle()
	long := r.now.Add(-100 * 24 * time.Hour)
	r.must(os.Chtimes(r.path(".done/a"), long, long))
	r.drop("a.md", text("A", "two"))
	r.look(0)
	r.queue.Prune(r.now.Add(-90*24*time.Hour), func(state.ArticleID) (bool, error) {
		if r.queue.mu.TryLock() {
			t.Error("an article can be taken in while it is decided that its sources go")
		}
		return true, nil
	})
	r.settle()
	r.publish()
	if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"two"}) {
		t.Errorf("published %q, want the new text", got)
	}
}
