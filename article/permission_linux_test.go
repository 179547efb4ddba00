package article

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestWhatCannotBeReadIsAWrappedError(t *testing.T) {
	root := tree(t, map[string]string{"a.md": "# T\n\nx\n", "dir/index.md": "# T\n\nx\n", "p/x.md": "# T\n\n![](a.png)\n", "p/a.png": "x"})
	_, err := Load(filepath.Join(root, "gone.md"), Options{Root: root})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "gone.md") {
		t.Errorf("missing file: %v", err)
	}

	for _, name := range []string{"a.md", "dir", "p/a.png"} {
		if err := os.Chmod(filepath.Join(root, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "dir"), 0o755) })
	withoutPrivileges(t, root)
	for _, name := range []string{"a.md", "dir"} {
		_, err := Load(filepath.Join(root, name), Options{Root: root})
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), filepath.Join(root, name)) {
			t.Errorf("%s: error = %v, want one of permission that names it", name, err)
		}
	}
	_, err = Load(filepath.Join(root, "p/x.md"), Options{Root: root})
	wantProblem(t, err, "image-unreadable", 3, `"a.png"`, "right to read")
}

// withoutPrivileges makes the test's thread one without root's right to read
// everything. The thread is not used again.
func withoutPrivileges(t *testing.T, root string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for dir := root; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode()&0o055 != 0o055 {
			if err := os.Chmod(dir, info.Mode()|0o055); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.LockOSThread()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Setfsuid(0) })
}
