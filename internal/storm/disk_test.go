package storm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"herald/platforms/platformtest"
)

// smallDisk mounts a disk of 48 MB as the folder "disk" of a place, and puts the
// data directory there.
func smallDisk(t *testing.T, p *place) {
	t.Helper()
	disk := p.path("disk")
	if err := os.Mkdir(disk, 0o750); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("a disk of its own is needed, and cannot be mounted: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
			t.Errorf("unmount: %v %s", err, out)
		}
	})
	p.edit("data_dir: data\n", "data_dir: disk/data\n")
	if err := os.MkdirAll(p.path("disk/data"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("disk/data", p.path("data")); err != nil {
		t.Fatal(err)
	}
}

// fill writes a file that leaves no more than so many bytes of the disk free.
func fill(t *testing.T, path string, leave int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(block)
	}
	size, err := f.Seek(0, 1)
	if err == nil {
		err = f.Truncate(size - leave)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// said waits until the daemon has logged a text.
func (d *process) said(text string) {
	d.t.Helper()
	err := d.poll(func(context.Context) (bool, error) { return strings.Contains(d.log.String(), text), nil })
	if err != nil {
		d.t.Fatalf("the daemon never said %q: %v", text, err)
	}
}

func TestOnAnAlmostFullDiskNothingBegins(t *testing.T) {
	t.Parallel()
	d := newDrill(t, newLoopback)
	smallDisk(t, d.p)
	ballast := d.p.path("disk/ballast")
	fill(t, ballast, 4<<20)
	h := d.p.start()
	d.p.drop("a", title(1))
	h.said("nothing is taken from the queue for now")
	if n := d.w.(*loopback).server.Calls(""); n != 0 {
		t.Errorf("%d calls were made", n)
	}
	if _, err := os.Stat(d.p.path("data/queue/a/index.md")); err != nil {
		t.Errorf("the article is not in the queue any more: %v", err)
	}
	remove(t, ballast)
	d.p.drop("b", title(1)) // a look that need not be waited for
	for _, id := range []string{"a", "b"} {
		h.await(id, published(1))
	}
	h.stop()
	for _, id := range []string{"a", "b"} {
		d.has(id, 1, 0, title(1))
	}
}

// What a call brought about is recorded on a full disk too: at once in pages of
// the store that are free, or when there is room.
func TestOnADiskThatFillsUpDuringACallNothingIsLost(t *testing.T) {
	t.Parallel()
	d := newDrill(t, newLoopback)
	server := d.w.(*loopback).server
	smallDisk(t, d.p)
	release := make(chan struct{})
	server.Script("POST /posts", 1, platformtest.HangUntil(release))
	h := d.p.start()
	d.p.drop("a", title(1))
	err := h.poll(func(context.Context) (bool, error) { return server.Calls("POST /posts") > 0, nil })
	if err != nil {
		t.Fatal(err)
	}
	ballast := d.p.path("disk/ballast")
	fill(t, ballast, 0)
	close(release)
	h.said("no space left on device") // whichever part of herald met it first
	remove(t, ballast)
	h.await("a", published(1))
	h.stop()
	d.has("a", 1, 0, title(1))
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestAReadOnlyDataDirectoryIsSaidAtTheStart(t *testing.T) {
	t.Parallel()
	d := newDrill(t, newSite)
	smallDisk(t, d.p)
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,ro", d.p.path("disk")).CombinedOutput(); err != nil {
		t.Skipf("the disk cannot be made read-only: %v %s", err, out)
	}
	h := d.p.start()
	if h.wait(); h.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the daemon ended with %v, want exit status 1", h.cmd.ProcessState)
	}
	if text := h.log.String(); !strings.Contains(text, "read-only file system") || !strings.Contains(text, "disk/data") || strings.Contains(text, "panic") {
		t.Errorf("it says %q", text)
	}
}

// B70: the folder is watched again after it was made anew.
func TestAQueueFolderThatIsMadeAnewIsWatched(t *testing.T) {
	t.Parallel()
	d := newDrill(t, newSite)
	d.p.drop("a", title(1))
	h := d.p.start()
	h.await("a", published(1))
	queue := d.p.path("data/queue")
	for os.RemoveAll(queue) != nil { // herald may be making it anew meanwhile
	}
	if err := os.MkdirAll(queue, 0o750); err != nil {
		t.Fatal(err)
	}
	d.p.drop("b", title(1))
	h.await("b", published(1))
	h.stop()
	d.has("a", 1, 0, title(1))
	d.has("b", 1, 0, title(1))
	if _, err := os.Stat(filepath.Join(queue, ".done", "b")); err != nil {
		t.Errorf("the source of b is not kept: %v", err)
	}
}
