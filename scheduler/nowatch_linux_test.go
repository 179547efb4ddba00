package scheduler

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// withoutInotify runs the test again as a process that may make no inotify
// instance: the limit is set to none in a user namespace of its own.
func withoutInotify(t *testing.T) (inside bool) {
	t.Helper()
	const mark = "HERALD_TEST_WITHOUT_INOTIFY"
	if os.Getenv(mark) != "" {
		if err := os.WriteFile("/proc/sys/user/max_inotify_instances", []byte("0"), 0); err != nil {
			t.Skipf("the limit cannot be set here: %v", err)
		}
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil && len(out) == 0:
		t.Skipf("no user namespace can be had here: %v", err)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	}
	return false
}

func TestWithoutInotifyTheSweepFindsEverything(t *testing.T) { // B70
	if !withoutInotify(t) {
		return
	}
	w := newWatched(t, 20*time.Millisecond)
	w.drop("a.md", text("A", "a"))
	w.sweep <- struct{}{}
	w.await("a")
	w.move("b.md", map[string]string{"b.md": text("B", "b")})
	w.sweep <- struct{}{}
	w.await("b")
	w.stop()
	if n := strings.Count(w.log.String(), "cannot be watched"); n != 1 {
		t.Errorf("told %d times that nothing is watched, want once:\n%s", n, w.log)
	}
}
