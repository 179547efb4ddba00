package git

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herald/platforms"
	"herald/platforms/platformtest"
)

// settle does after a failure what the delivery does: look, then publish again.
func (s site) settle(p platforms.Post) error {
	s.t.Helper()
	for range 20 {
		_, err := s.Publish(s.t.Context(), p, s.memo)
		if err == nil {
			return nil
		}
		if kind := platforms.KindOf(err); kind != platforms.Unavailable && kind != platforms.Uncertain {
			return err
		}
		found, err := s.Find(s.t.Context(), p, time.Time{}, s.memo)
		if err == nil && found.Outcome == platforms.Present {
			return nil
		}
	}
	return fmt.Errorf("not settled")
}

func TestAPushThatOthersForestalledIsMadeAnew(t *testing.T) { // B90
	r := newRemote(t)
	s := open(t, r.config(hugo))
	w := newWrapper(t)
	s.repo.program = w.program
	s.mustPublish(s.post("hello", "Hello", "text"))
	r.commit("a.txt", "a", "ahead by one") // the clone is now behind by two
	r.commit("b.txt", "b", "ahead by two")
	other := filepath.Join(t.TempDir(), "other")
	run(t, "", "clone", "--quiet", r.dir, other)
	w.put("before-push", fmt.Sprintf(`rm %s/before-push
cd %s && unset GIT_DIR && echo c >c.txt && %[3]s add c.txt && %[3]s commit -qm race && %[3]s push -q origin HEAD:main`, w.state, other, realGit))

	p := s.post("world", "World", "text")
	p.Key = otherKey
	s.memo = platformtest.NewMemo()
	s.mustPublish(p)
	if got, want := r.keys(), []string{otherKey, testKey}; !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v: one commit an article", got, want)
	}
	for _, file := range []string{"a.txt", "b.txt", "c.txt"} {
		if !slices.Contains(r.files(), file) {
			t.Errorf("%s of others is gone: %v", file, r.files())
		}
	}
	if _, err := os.Stat(filepath.Join(w.state, "before-push")); err == nil {
		t.Error("nobody pushed in between")
	}
	if argv := w.argv(); strings.Contains(argv, "--force") || strings.Contains(argv, " -f ") {
		t.Errorf("a push was forced:\n%s", argv)
	}
}

func (w *wrapper) argv() string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.state, "argv"))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func TestABranchThatNeverStandsStillIsUnavailable(t *testing.T) {
	r := newRemote(t)
	s := open(t, r.config(hugo))
	w := newWrapper(t)
	s.repo.program = w.program
	w.put("answer", "!\tHEAD:refs/heads/main\t[rejected] (fetch first)")
	_, err := s.Publish(t.Context(), s.post("hello", "Hello", "text"), s.memo)
	if platforms.KindOf(err) != platforms.Unavailable {
		t.Errorf("%v, want Unavailable", err)
	}
	if n := strings.Count(w.argv(), "push "); n != maxTries {
		t.Errorf("%d pushes, want %d", n, maxTries)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Publish(ctx, s.post("hello", "Hello", "text"), s.memo); platforms.KindOf(err) != platforms.Unavailable {
		t.Errorf("%v, want Unavailable", err)
	}
}

func TestTwoSitesPublishIntoOneBranchAtOnce(t *testing.T) {
	for name, newRemote := range map[string]func(testing.TB) remote{"with a history": newRemote, "empty": emptyRemote} {
		t.Run(name, func(t *testing.T) {
			r := newRemote(t)
			var wg sync.WaitGroup
			errs := make([]error, 4)
			for i := range errs {
				s := open(t, r.config(hexo))
				p := s.post(fmt.Sprintf("page-%d", i), "Title", "text")
				p.Key = fmt.Sprintf("%032x", i)
				wg.Go(func() { errs[i] = s.settle(p) })
			}
			wg.Wait()
			for i, err := range errs {
				if err != nil {
					t.Errorf("page %d: %v", i, err)
				}
			}
			if got := r.keys(); len(got) != 4 {
				t.Errorf("commits of the keys %v, want one of each of 4", got)
			}
			if pages := r.pages("source"); len(pages) != 4 {
				t.Errorf("%d pages, want 4", len(pages))
			}
		})
	}
}

func TestACloneInAnyStateIsPutRight(t *testing.T) { // B90
	in := func(script string) func(testing.TB, string) {
		return func(t testing.TB, clone string) {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
			cmd.Dir = clone
			cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	tests := map[string]func(t testing.TB, clone string){
		"on another branch":           in("git checkout -q -b other && echo x >x && git add x && git commit -qm x"),
		"with a detached head":        in("git checkout -q --detach"),
		"dirty":                       in("echo x >README.md; echo x >new; mkdir -p content/posts/world; echo x >content/posts/world/left.png; rm -rf content/posts/hello"),
		"with something staged":       in("echo x >new; git add new"),
		"in the middle of a merge":    in("git checkout -q -b o HEAD^; echo o >README.md; git commit -qam o; git checkout -q -b p HEAD^; echo p >README.md; git commit -qam p; git merge o || true"),
		"with a commit of its own":    in("echo x >x; git add x; git commit -qm 'not pushed'"),
		"with stale locks":            in("touch .git/index.lock .git/HEAD.lock .git/packed-refs.lock; mkdir -p .git/refs/heads/a; touch .git/refs/heads/a/b.lock .git/refs/remotes/origin/main.lock"),
		"deleted":                     in("cd ..; rm -rf clone"),
		"without its .git":            in("rm -rf .git"),
		"with a broken HEAD":          in("echo garbage >.git/HEAD"),
		"without its HEAD":            in("rm .git/HEAD; touch .git/index.lock"),
		"with a broken index":         in("echo garbage >.git/index"),
		"with empty objects":          in("find .git/objects -type f -exec sh -c 'chmod u+w {}; : >{}' ';'"),
		"without its objects":         in("rm -rf .git/objects/*"),
		"with a broken configuration": in("echo '[broken' >.git/config"),
		"with a broken reference":     in("echo garbage >.git/refs/remotes/origin/main"),
		"with .git a file":            in("rm -rf .git; echo gitdir: /nowhere >.git"),
		"with hooks that refuse":      in("mkdir -p .git/hooks; printf '#!/bin/sh\\nexit 1\\n' >.git/hooks/pre-commit; cp .git/hooks/pre-commit .git/hooks/pre-push; chmod +x .git/hooks/*"),
		"with an ignore file for all": in("mkdir -p .git/info; echo '*' >.git/info/exclude"),
	}
	for name, sabotage := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			s := open(t, r.config(hugo))
			s.mustPublish(s.post("hello", "Hello", "text"))
			sabotage(t, s.repo.dir)

			p := s.post("world", "World", "text")
			p.Key = otherKey
			s.memo = platformtest.NewMemo()
			s.mustPublish(p)
			want := []string{"README.md", "content/posts/hello/index.md", "content/posts/world/index.md"}
			if got := r.files(); !slices.Equal(got, want) {
				t.Errorf("files %v, want %v", got, want)
			}
			if got := r.keys(); !slices.Equal(got, []string{otherKey, testKey}) {
				t.Errorf("commits of the keys %v", got)
			}
		})
	}
}

func TestALockIsOnlyRemovedWhenNoGitOfOursRuns(t *testing.T) {
	r := newRemote(t)
	s := open(t, r.config(hugo))
	p := s.post("hello", "Hello", "text")
	s.mustPublish(p)
	lock := filepath.Join(s.repo.dir, ".git", "index.lock")
	write(t, lock, "")
	f, err := os.Open(s.repo.dir + ".lock") // as a git does that outlived its herald
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.Find(ctx, p, time.Time{}, s.memo); platforms.KindOf(err) != platforms.Unavailable {
		t.Errorf("a look-up beside a running push: %v, want Unavailable", err)
	}
	if _, err := os.Stat(lock); err != nil {
		t.Errorf("the lock is gone: %v", err)
	}
}

func TestGitInheritsTheLockAndDiesWithItsCall(t *testing.T) {
	r := newRemote(t)
	s := open(t, r.config(hugo))
	pushing := fifo(t, filepath.Join(t.TempDir(), "pushing"))
	r.hook("pre-receive", "echo >"+pushing.Name()+"; exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := s.Publish(ctx, s.post("hello", "Hello", "text"), s.memo)
		done <- err
	}()
	if err := pushing.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := pushing.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the push did not begin: %v", err)
	}
	holders := lockHolders(t, s.repo.dir+".lock")
	cancel()
	if err := <-done; platforms.KindOf(err) != platforms.Uncertain {
		t.Errorf("%v, want Uncertain", err)
	}
	if len(holders) < 2 {
		t.Errorf("the lock is held by %v, want herald and git", holders)
	}
	f, err := s.repo.lockFile(t.Context()) // waits for processes that are dying
	if err != nil {
		t.Fatalf("a process outlived the call: %v", err)
	}
	f.Close()
}

// lockHolders returns the processes that have file open.
func lockHolders(t *testing.T, file string) (pids []string) {
	t.Helper()
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil || len(fds) == 0 {
		t.Skip("no /proc here")
	}
	for _, fd := range fds {
		pid := strings.Split(fd, "/")[2]
		if target, err := os.Readlink(fd); err == nil && target == file && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestAHookRefuses(t *testing.T) {
	tests := []struct {
		name, hook, script string
		want               platforms.Kind
		message            string
	}{
		{"content", "pre-receive", "echo 'no such words here' >&2; exit 1", platforms.Rejected, "no such words here"},
		{"content, by update", "update", "echo 'bad page' >&2; exit 1", platforms.Rejected, "bad page"},
		{"a protected branch", "pre-receive", "echo 'You are not allowed to push code to protected branches on this project.' >&2; exit 1", platforms.Unauthorized, "protected branches"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRemote(t)
			s := open(t, r.config(hugo))
			r.hook(tt.hook, tt.script)
			_, err := s.Publish(t.Context(), s.post("hello", "Hello", "text"), s.memo)
			if platforms.KindOf(err) != tt.want || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("%v, want %s with the server's words", err, tt.want)
			}
			if len(r.keys()) != 0 {
				t.Error("published all the same")
			}
		})
	}
}

func TestALostAnswerIsFoundOut(t *testing.T) {
	r := newRemote(t)
	s := open(t, r.config(hugo))
	p := s.post("hello", "Hello", "text")
	r.hook("post-receive", "kill -9 $PPID")
	_, err := s.Publish(t.Context(), p, s.memo)
	if platforms.KindOf(err) != platforms.Uncertain {
		t.Fatalf("%v, want Uncertain", err)
	}
	if err := os.RemoveAll(s.env.Dir); err != nil { // the clone is lost as well
		t.Fatal(err)
	}
	found, err := s.Find(t.Context(), p, time.Time{}, s.memo)
	if err != nil || found.Outcome != platforms.Present || found.Receipt.ID != "content/posts/hello/index.md" {
		t.Errorf("found %+v, %v; want Present", found, err)
	}
	s.mustPublish(p)
	if got := r.keys(); len(got) != 1 {
		t.Errorf("commits of the keys %v, want one", got)
	}
}
