package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herald/article"
	"herald/platforms"
)

func TestForeignFilesAreNeverReplaced(t *testing.T) {
	for _, c := range []struct {
		file string
		kind platforms.Kind
	}{
		{"index.html", platforms.Dependency},
		{"style.css", platforms.Dependency},
		{"tags/go/index.html", platforms.Dependency},
		{"posts/a/index.html", platforms.Rejected},
		{"posts/a/fig.png", platforms.Rejected},
	} {
		t.Run(c.file, func(t *testing.T) {
			blog := open(t, Config{})
			path := filepath.Join(blog.dir, c.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			p := withImage(t, newPost("a", 1, "go"), "fig.png", "pixels")
			for range 2 { // the refusal of the first must not be the permission of the second
				_, err := blog.Publish(t.Context(), p, nil)
				if platforms.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.file) || !strings.Contains(err.Error(), "move it away") {
					t.Errorf("got %v, want %s with the file and a remedy", err, c.kind)
				}
			}
			if got := files(t, blog.dir); len(got) != 1 || read(t, blog, c.file) != "mine" {
				t.Errorf("the folder was changed: %v", got)
			}
		})
	}
}

func TestUnsafeNamesAreRefused(t *testing.T) {
	c := open(t, Config{})
	for _, slug := range []string{"", ".", "..", ".herald", "a/b", `a\b`, "a\x00b"} {
		if _, err := c.Publish(t.Context(), newPost(slug, 1), nil); platforms.KindOf(err) != platforms.Invalid {
			t.Errorf("slug %q: %v, want %s", slug, err, platforms.Invalid)
		}
	}
	for _, name := range []string{"", "../x.png", "index.html", ".x.png"} {
		p := newPost("a", 1)
		p.Cover = &article.Image{Path: "/nowhere", Name: name}
		if _, err := c.Publish(t.Context(), p, nil); platforms.KindOf(err) != platforms.Invalid {
			t.Errorf("image %q: %v, want %s", name, err, platforms.Invalid)
		}
	}
}

func TestAFileInPlaceOfTheFolderIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "blog")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := open(t, Config{Dir: file})
	_, publishErr := c.Publish(t.Context(), newPost("a", 1), nil)
	for op, err := range map[string]error{"publish": publishErr, "probe": c.Probe(t.Context())} {
		if platforms.KindOf(err) != platforms.Dependency || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "a file is in the way") {
			t.Errorf("%s: %v, want a dependency with the path and a remedy", op, err)
		}
	}
}

func TestAFolderWithoutWritePermissionIsSaid(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	c := open(t, Config{Dir: filepath.Join(dir, "blog")})
	_, publishErr := c.Publish(t.Context(), newPost("a", 1), nil)
	for op, err := range map[string]error{"publish": publishErr, "probe": c.Probe(t.Context())} {
		if platforms.KindOf(err) != platforms.Dependency || !strings.Contains(err.Error(), "write permission") {
			t.Errorf("%s: %v, want a dependency with a remedy", op, err)
		}
	}
}

func TestDiskFaultsHaveAKindACodeAndARemedy(t *testing.T) {
	for _, c := range []struct {
		err       error
		kind      platforms.Kind
		code, fix string
	}{
		{syscall.ENOSPC, platforms.Dependency, "ENOSPC", "free some space"},
		{syscall.EDQUOT, platforms.Dependency, "EDQUOT", "free some space"},
		{syscall.EACCES, platforms.Dependency, "EACCES", "write permission"},
		{syscall.EPERM, platforms.Dependency, "EPERM", "write permission"},
		{syscall.EROFS, platforms.Dependency, "EROFS", "read-only"},
		{syscall.EIO, platforms.Dependency, "EIO", ""},
		{context.Canceled, platforms.Unavailable, "", ""},
		{context.DeadlineExceeded, platforms.Unavailable, "", ""},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			blog := open(t, Config{})
			blog.step = func(func() error) error { return &fs.PathError{Op: "rename", Path: "index.html", Err: c.err} }
			_, err := blog.Publish(t.Context(), newPost("a", 1), nil)
			e, ok := errors.AsType[*platforms.Error](err)
			if !ok || e.Kind != c.kind || e.Code != c.code || !strings.Contains(e.Message, c.fix) || !errors.Is(err, c.err) {
				t.Errorf("got %#v, want kind %s, code %s, remedy %q", e, c.kind, c.code, c.fix)
			}
		})
	}
}

func TestABrokenIndexStopsRatherThanForgets(t *testing.T) {
	for name, content := range map[string]string{"half a file": `{"posts":[{`, "a newer version": `{"version":99}`} {
		t.Run(name, func(t *testing.T) {
			c := open(t, Config{})
			mustPublish(t, c, newPost("a", 1))
			if err := os.WriteFile(filepath.Join(c.dir, indexFile), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, c.dir)
			_, err := c.Publish(t.Context(), newPost("b", 2), nil)
			if platforms.KindOf(err) != platforms.Dependency || !strings.Contains(err.Error(), indexFile) {
				t.Errorf("got %v, want a dependency that names the file", err)
			}
			if diff := cmp.Diff(before, snapshot(t, c.dir)); diff != "" {
				t.Errorf("the blog was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestTwoClientsOfOneFolderLoseNothing(t *testing.T) {
	a := open(t, Config{})
	b := open(t, Config{Dir: a.dir})
	var wg sync.WaitGroup
	for i := range 10 {
		for name, c := range map[string]*Client{"a": a, "b": b} {
			wg.Go(func() {
				if _, err := c.Publish(t.Context(), newPost(fmt.Sprintf("%s%d", name, i), i+1), nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if n := strings.Count(read(t, a, "index.html"), `class="teaser"`); n != 20 {
		t.Errorf("%d articles in the list, want 20", n)
	}
}

func TestProbeChangesNothing(t *testing.T) {
	c := open(t, Config{})
	if err := c.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestAnArticleOfATitleAloneIsFound(t *testing.T) {
	c := open(t, Config{})
	p := newPost("a", 1)
	p.Body = ""
	mustPublish(t, c, p)
	if found, err := c.Find(t.Context(), p, p.Date, nil); err != nil || found.Outcome != platforms.Present {
		t.Errorf("got %+v, %v; want it present", found, err)
	}
}
