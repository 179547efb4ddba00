package state_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"herald/state"
	"herald/state/statetest"
)

// open opens the test's store file and checks it for damage afterwards.
func open(t *testing.T, path string) *state.Bolt {
	t.Helper()
	s, err := state.Open(path)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		check(t, path)
	})
	return s
}

func check(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		t.Errorf("check store file: %v", err)
		return
	}
	defer db.Close()
	_ = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("store file is damaged: %v", err)
		}
		return nil
	})
}

func TestBoltPassesTheSuiteOfStores(t *testing.T) {
	dirs := map[string]string{}
	statetest.Run(t, statetest.Case{Open: func(t *testing.T) state.Store {
		if dirs[t.Name()] == "" {
			dirs[t.Name()] = t.TempDir()
		}
		return open(t, filepath.Join(dirs[t.Name()], "herald.db"))
	}})
}

// B97: a second daemon, and a status while the daemon runs, get an answer.
func TestAStoreInUseIsToldAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "herald.db")
	if os.Getenv("HERALD_TEST_OPEN") != "" { // the other process
		_, err := state.Open(os.Getenv("HERALD_TEST_OPEN"))
		_, err2 := state.OpenReadOnly(os.Getenv("HERALD_TEST_OPEN"))
		if !errors.Is(err, state.ErrLocked) || !errors.Is(err2, state.ErrLocked) {
			t.Fatalf("got %v and %v, want ErrLocked twice", err, err2)
		}
		return
	}
	open(t, path)
	cmd := exec.Command(os.Args[0], "-test.run=^TestAStoreInUseIsToldAtOnce$")
	cmd.Env = append(os.Environ(), "HERALD_TEST_OPEN="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the second process: %v\n%s", err, out)
	}
}

func TestAFileThatIsNoStoreIsRefusedAndNotTouched(t *testing.T) {
	for name, content := range map[string]string{
		"text":           strings.Repeat("this is no store\n", 1000),
		"zeros":          strings.Repeat("\x00", 64<<10),
		"a broken store": "",
		"nothing":        "",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "herald.db")
			if name == "a broken store" {
				content = brokenStore(t)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := state.Open(path)
			if !errors.Is(err, state.ErrDamaged) {
				t.Errorf("got %v, want ErrDamaged", err)
			}
			if err != nil && (!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "backup")) {
				t.Errorf("message %q names no file or no remedy", err)
			}
			after, readErr := os.ReadFile(path)
			if readErr != nil || string(after) != content {
				t.Errorf("the file was changed (%v)", readErr)
			}
		})
	}
}

// brokenStore is a store whose two meta pages are overwritten.
func brokenStore(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "herald.db")
	s, err := state.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(raw, strings.Repeat("x", 2*os.Getpagesize()))
	return string(raw)
}

func TestABackupIsAWholeStoreTakenWhileOthersWrite(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "herald.db"))
	k := state.Key{Article: "a", Target: "t"}
	d := state.Delivery{Article: "a", Target: "t", State: state.Queued}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := s.Update(func(tx state.Tx) error { return tx.PutDelivery(d) }); err != nil {
				stopped <- err
				return
			}
			d.Version++
		}
	}()
	copyPath := filepath.Join(dir, "copy.db")
	for range 20 {
		f, err := os.Create(copyPath)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Backup(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		check(t, copyPath)
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	restored := open(t, copyPath)
	err := restored.View(func(r state.Reader) error { _, err := r.Delivery(k); return err })
	if err != nil {
		t.Errorf("the copy lacks the delivery: %v", err)
	}
}

func TestAClosedStoreRefusesWrites(t *testing.T) {
	s, err := state.Open(filepath.Join(t.TempDir(), "herald.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(func(state.Tx) error { return nil }); err == nil {
		t.Error("a write after Close succeeded")
	}
}

func TestReadOnlyNeedsAnExistingStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "herald.db")
	if _, err := state.OpenReadOnly(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that it does not exist", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made a file (%v)", err)
	}
}
