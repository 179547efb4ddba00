package scheduler

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const nobody = 65534

// asOther runs the test's looks as a user who is not the owner of what is
// dropped, on file systems that know owners. It needs root to begin with.
func asOther(t *testing.T, run func(r *rig, root func(func()))) {
	if os.Geteuid() != 0 {
		t.Skip("only root can drop files as somebody else")
	}
	base, err := os.MkdirTemp("/tmp", "herald-rights-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o777); err != nil {
		t.Fatal(err)
	}
	// The user of file accesses is one of the thread: the queue works on this one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become := func(uid int) {
		if err := unix.Setfsuid(uid); err != nil {
			t.Fatal(err)
		}
	}
	defer become(0)
	var r *rig
	become(nobody)
	defer func() { become(0) }()
	r = newRig(t, func(r *rig) { r.dir = filepath.Join(base, "queue") })
	if f, err := os.Open("/etc/shadow"); err == nil {
		_ = f.Close()
		t.Skip("rights cannot be dropped here")
	}
	run(r, func(f func()) {
		become(0)
		defer become(nobody)
		f()
	})
}

func TestAFileThatHeraldMayNotReadIsWaitedForAndRefused(t *testing.T) {
	asOther(t, func(r *rig, root func(func())) {
		root(func() {
			r.put(map[string]string{"x.md": text("X", "secret"), "good.md": text("Good", "text")})
			r.must(os.Chmod(r.path("x.md"), 0o600))
		})
		r.settle()
		r.wantArticles("good")
		if !exists(r.path("x.md")) {
			t.Error("refused at once, though a copy gives the rights last")
		}
		r.look(missingFor)
		if reason := r.reason("x.md"); !strings.Contains(reason, "x.md: cannot be read") || !strings.Contains(reason, "; let the user") {
			t.Errorf("reason = %s, want file, fault and remedy", reason)
		}
		root(func() {
			if got := r.files()[".bad/x.md"]; got != text("X", "secret") {
				t.Errorf("kept %q", got)
			}
		})
	})
}

func TestRightsThatComeLateAreInTime(t *testing.T) {
	asOther(t, func(r *rig, root func(func())) {
		root(func() {
			r.drop("trip/index.md", text("Trip", "text"))
			r.must(os.Chmod(r.path("trip"), 0o700)) // as `cp -rp` has it while it copies
		})
		r.settle()
		r.wantArticles()
		root(func() { r.must(os.Chmod(r.path("trip"), 0o777)) })
		r.settle()
		r.wantArticles("trip")
	})
}

// A folder that belongs to somebody else cannot even be moved to .bad.
func TestAFolderThatHeraldMayNotReadIsToldOnceAndTheOthersGoOn(t *testing.T) {
	asOther(t, func(r *rig, root func(func())) {
		root(func() {
			r.drop("x/index.md", text("X", "secret"))
			r.must(os.Chmod(r.path("x"), 0o700))
		})
		for range 20 {
			r.look(missingFor)
		}
		if reason := r.reason("x"); !strings.Contains(reason, "x: cannot be read") || !strings.Contains(reason, "; let the user") {
			t.Errorf("reason = %s, want file, fault and remedy", reason)
		}
		if n := strings.Count(r.log.String(), "article refused"); n != 1 {
			t.Errorf("told %d times, want once:\n%s", n, r.log)
		}
		r.drop("good.md", text("Good", "text"))
		r.settle()
		r.wantArticles("good")
		root(func() { r.must(os.Chmod(r.path("x"), 0o777)) })
		r.settle()
		r.wantArticles("good", "x")
	})
}

func TestAFileInAFolderThatHeraldMayNotReadIsNamed(t *testing.T) {
	for _, unread := range []string{"trip/notes.txt", "trip/a.png", "trip/sub"} {
		t.Run(unread, func(t *testing.T) {
			asOther(t, func(r *rig, root func(func())) {
				root(func() {
					r.put(map[string]string{"trip/index.md": text("Trip", "![](a.png)"), "trip/a.png": picture(1), "trip/notes.txt": "n", "trip/sub/x": "x"})
					r.must(os.Chmod(r.path("trip"), 0o777))
					r.must(os.Chmod(r.path(unread), 0))
				})
				r.settle()
				r.wantArticles()
				r.look(missingFor)
				if reason := r.reason("trip"); !strings.Contains(reason, filepath.Base(unread)) || !strings.Contains(reason, "; ") {
					t.Errorf("reason = %s, want one that names %s", reason, unread)
				}
			})
		})
	}
}

// In a sticky folder only the owner may move a file.
func TestAnAdmittedFileThatMayNotBeMovedIsAdmittedOnceAndToldOnce(t *testing.T) {
	asOther(t, func(r *rig, root func(func())) {
		root(func() {
			r.must(os.Chown(r.dir, 0, 0))
			r.must(os.Chmod(r.dir, 0o777|os.ModeSticky))
			r.drop("a.md", text("A", "text"))
		})
		for range 10 {
			r.look(faultRest)
		}
		r.wantArticles("a")
		if exists(r.path(".bad/a.md.reason.txt")) {
			t.Error("an admitted article was called refused")
		}
		if n := strings.Count(r.log.String(), "stays in the queue"); n != 1 {
			t.Errorf("told %d times, want once:\n%s", n, r.log)
		}
	})
}

// A folder of somebody else moves only for who may write in it.
func TestAnAdmittedFolderThatMayNotBeMovedIsToldWithTheRemedy(t *testing.T) {
	asOther(t, func(r *rig, root func(func())) {
		root(func() { r.drop("trip/index.md", text("Trip", "text")) })
		for range 5 {
			r.look(faultRest)
		}
		r.restart()
		for range 5 {
			r.look(faultRest)
		}
		r.wantArticles("trip")
		if a := r.article("trip"); a.Revision != 1 || len(r.files()) != 2 {
			t.Errorf("record = %+v, files = %q; want one revision, and the original left", a, r.files())
		}
		if n := strings.Count(r.log.String(), "chmod -R g+w"); n != 2 {
			t.Errorf("told %d times what to do, want once a start:\n%s", n, r.log)
		}
		root(func() { r.must(os.Chmod(r.path("trip"), 0o777)) })
		r.settle()
		if exists(r.path("trip")) {
			t.Error("not cleared away though it may be now")
		}
	})
}

// What can be moved and not deleted must not keep herald from starting.
func TestATakenFolderThatMayNotBeDeletedIsOutOfTheWay(t *testing.T) {
	asOther(t, func(r *rig, root func(func())) {
		for range 2 {
			root(func() {
				r.put(map[string]string{"trip/index.md": text("Trip", "text"), "trip/sub/x": "x"})
				r.must(os.Chmod(r.path("trip"), 0o777))
			})
			r.settle()
			if exists(r.path("trip")) {
				t.Error("the folder is still in the queue")
			}
			r.restart()
		}
		r.wantArticles("trip")
	})
}

// What cannot be written is no fault of the article.
func TestADoneFolderThatMayNotBeWrittenKeepsTheArticleInTheQueue(t *testing.T) {
	asOther(t, func(r *rig, root func(func())) {
		root(func() { r.must(errors.Join(os.Chown(r.path(".done"), 0, 0), os.Chmod(r.path(".done"), 0o755))) })
		r.drop("a.md", text("A", "text"))
		for range 10 {
			r.look(faultRest)
		}
		if !exists(r.path("a.md")) || exists(r.path(".bad/a.md.reason.txt")) {
			t.Error("the article was refused for what is herald's own fault")
		}
		root(func() { r.must(os.Chmod(r.path(".done"), 0o777)) })
		r.look(faultRest)
		r.wantArticles("a")
	})
}
