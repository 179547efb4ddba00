package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// build makes the real program.
func (r *run) build(ctx context.Context) (string, error) {
	bin := filepath.Join(r.dir, "herald")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "herald/cmd/herald").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build herald: %w\n%s", err, out)
	}
	return bin, nil
}

// daemon starts the real program in a folder of its own and waits until it is
// ready.
func (r *run) daemon(ctx context.Context, name string) (data string, cmd *exec.Cmd, err error) {
	bin, err := r.build(ctx)
	if err != nil {
		return "", nil, err
	}
	dir := filepath.Join(r.dir, name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", nil, err
	}
	cmd = exec.CommandContext(ctx, bin, "run")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HERALD_HTTP_LISTEN=")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ctrl-C") {
			return filepath.Join(dir, "herald-data"), cmd, nil
		}
	}
	return "", nil, fmt.Errorf("herald did not become ready: %w", cmd.Wait())
}

// queue measures the time from a rename into the queue to the first sign of the
// platform call: the page's folder at the built-in blog.
func (r *run) queue(ctx context.Context) error {
	data, cmd, err := r.daemon(ctx, "queue")
	if err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	posts := filepath.Join(data, "site", "posts")
	if err := os.MkdirAll(posts, 0o750); err != nil {
		return err
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Add(posts); err != nil {
		return err
	}
	var took []time.Duration
	for i := range 20 {
		tmp := filepath.Join(r.dir, "drop.md")
		text := fmt.Sprintf("# 标题 %d\n\n%s\n", i, body)
		if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
			return err
		}
		began := time.Now()
		if err := os.Rename(tmp, filepath.Join(data, "queue", fmt.Sprintf("drop-%d.md", i))); err != nil {
			return err
		}
		select {
		case <-w.Events:
			took = append(took, time.Since(began))
		case <-time.After(time.Minute):
			return fmt.Errorf("article %d was not published", i)
		}
		for quiet := false; !quiet; { // the rest of this article
			select {
			case <-w.Events:
			case <-time.After(300 * time.Millisecond):
				quiet = true
			}
		}
	}
	r.add(result{
		what:  "from a rename into the queue to the platform call",
		value: fmt.Sprintf("p50 %s, p99 %s (50 ms of it gather a save's events)", percentile(took, 50), percentile(took, 99)),
	})
	return nil
}

// idle measures what a daemon with nothing to do takes.
func (r *run) idle(ctx context.Context) error {
	_, cmd, err := r.daemon(ctx, "idle")
	if err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	const watched = 20 * time.Second
	select {
	case <-time.After(watched):
	case <-ctx.Done():
		return ctx.Err()
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		return err
	}
	memory := "?"
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			memory = strings.Join(strings.Fields(v), " ")
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	if err != nil {
		return err
	}
	// Behind the name in parentheses: state is field 3, utime 14, stime 15.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int
	for _, f := range fields[11:13] {
		var n int
		if _, err := fmt.Sscan(f, &n); err != nil {
			return err
		}
		ticks += n
	}
	cpu := float64(ticks) / 100 / watched.Seconds() * 100
	r.add(result{what: "idle", value: fmt.Sprintf("%s resident, %.2f %% of one core (start included)", memory, cpu)})
	return nil
}
