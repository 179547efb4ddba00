package git

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"herald/internal/failpoint"
	"herald/platforms"
)

const (
	// maxTries bounds how often a change is made anew because others pushed in
	// between.
	maxTries = 5
	// firstPause before the second try; it doubles, with jitter.
	firstPause = 50 * time.Millisecond
	// stopGrace is what a command has for cleaning up when its time is over.
	stopGrace = 3 * time.Second
	// lockPatience is how long the clone may stay locked by commands that were
	// stopped just now.
	lockPatience = 5 * time.Second
	defaultSSH   = "ssh -oBatchMode=yes -oConnectTimeout=15"
)

// repo is one branch of a remote repository, and where its clone is kept.
type repo struct {
	program string // git
	dir     string // of the clone
	branch  string
	env     []string // of every command
	hide    *strings.Replacer
	log     *slog.Logger
}

// newRepo sets the environment of all commands. Neither the user's nor the
// system's git configuration is read, and the clone's own is never written:
// address and credential travel in the environment, which keeps them out of
// process lists and of the disk.
func newRepo(cfg Config, env platforms.Env) *repo {
	config := [][2]string{
		{"remote.origin.url", cfg.Repo},
		{"http.lowSpeedLimit", "1"},
		{"http.lowSpeedTime", "60"},
		{"core.hooksPath", os.DevNull},
		{"core.autocrlf", "false"},
		{"commit.gpgSign", "false"},
		{"gc.autoDetach", "false"},
		{"maintenance.autoDetach", "false"},
	}
	hidden := []string{}
	if token := cfg.Token.Reveal(); token != "" {
		basic := base64.StdEncoding.EncodeToString([]byte(cfg.Username + ":" + token))
		hidden = append(hidden, token, "[redacted]", url.QueryEscape(token), "[redacted]", basic, "[redacted]")
		// Bound to the repository's address, the header goes to no other host.
		config = append(config, [2]string{"http." + cfg.Repo + ".extraHeader", "Authorization: Basic " + basic})
	}
	vars := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG")
	})
	vars = append(vars,
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_LITERAL_PATHSPECS=1",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_SSH_COMMAND="+cmp.Or(cfg.SSHCommand, defaultSSH),
		"GIT_AUTHOR_NAME="+cfg.AuthorName, "GIT_AUTHOR_EMAIL="+cfg.AuthorEmail,
		"GIT_COMMITTER_NAME="+cfg.AuthorName, "GIT_COMMITTER_EMAIL="+cfg.AuthorEmail,
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config)),
	)
	for i, kv := range config {
		vars = append(vars, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, kv[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, kv[1]))
	}
	return &repo{
		program: "git", dir: filepath.Join(env.Dir, "clone"), branch: cfg.Branch,
		env: vars, hide: strings.NewReplacer(hidden...), log: env.Log,
	}
}

// clone is the repo's clone while this goroutine alone may use it.
type clone struct {
	*repo
	lock   *os.File
	unborn bool // the remote has no branch at all: the first push makes ours
}

// do gives change a clone that is just what the remote branch is. It does so
// again when others pushed before change did, and when the clone turns out to
// be damaged.
func (r *repo) do(ctx context.Context, change func(*clone) error) error {
	unlock, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	c := &clone{repo: r}
	if c.lock, err = r.lockFile(ctx); err != nil {
		return asError(err)
	}
	defer c.lock.Close()

	rebuilt := false
	for try := 1; ; try++ {
		err = c.sync(ctx)
		if err == nil {
			err = change(c)
		}
		switch {
		case damaged(err) && !rebuilt:
			rebuilt = true
			r.log.WarnContext(ctx, "clone is damaged, cloning anew", "error", asError(err))
			if err := os.RemoveAll(r.dir); err != nil {
				return asError(fmt.Errorf("remove damaged clone: %w", err))
			}
		case is(err, codeFetchFirst, codeNonFastForward) && try < maxTries:
			if !pause(ctx, try) {
				return asError(err)
			}
		default:
			return asError(err)
		}
	}
}

// pause waits before the next try; it reports false if ctx ended first.
func pause(ctx context.Context, try int) bool {
	wait := firstPause << (try - 1)
	timer := time.NewTimer(wait/2 + rand.N(wait))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// busy has one token a clone: within the process they take turns.
var busy sync.Map // clone folder → chan struct{}

func (r *repo) acquire(ctx context.Context) (release func(), err error) {
	v, _ := busy.LoadOrStore(r.dir, make(chan struct{}, 1))
	turn := v.(chan struct{})
	if ctx.Err() != nil {
		return nil, ended(ctx, "clone")
	}
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ended(ctx, "clone")
	}
}

// lockFile locks the clone against other processes. Every git command inherits
// the lock: while one of them lives on, even after the death of the process that
// started it, nobody touches the clone or believes that a push was not made.
func (r *repo) lockFile(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(r.dir), 0o750); err != nil {
		return nil, fmt.Errorf("make folder for the clone: %w", err)
	}
	f, err := os.OpenFile(r.dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock clone: %w", err)
	}
	deadline := time.Now().Add(lockPatience)
	for try := 1; ; try = min(try+1, 4) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) || !pause(ctx, try) {
			_ = f.Close()
			if ctx.Err() != nil {
				return nil, ended(ctx, "clone")
			}
			return nil, fmt.Errorf("%s.lock is held, an earlier git is still at work: %w", r.dir, err)
		}
	}
}

// sync makes clone and work tree what the branch is on the remote, whatever
// they were before.
func (c *clone) sync(ctx context.Context) error {
	if err := c.start(ctx); err != nil {
		return err
	}
	c.unborn = false
	_, err := c.git(ctx, "fetch", "--quiet", "--no-tags", "--no-auto-maintenance", "origin", "+refs/heads/"+c.branch+":"+c.tracking())
	if is(err, codeNoBranch) {
		return c.begin(ctx)
	}
	if err != nil {
		return err
	}
	if _, err := c.git(ctx, "reset", "--quiet", "--hard", c.tracking()); err != nil {
		return err
	}
	_, err = c.git(ctx, "clean", "--quiet", "-ffdx")
	return err
}

func (c *clone) tracking() string { return "refs/remotes/origin/" + c.branch }

// start makes the clone unless it is there, and removes the lock files of
// commands that were killed: holding the lock file, no command of ours runs.
func (c *clone) start(ctx context.Context) error {
	if err := os.MkdirAll(c.dir, 0o750); err != nil {
		return fmt.Errorf("make clone: %w", err)
	}
	err := filepath.WalkDir(c.gitDir(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "objects":
			return fs.SkipDir
		case strings.HasSuffix(path, ".lock"):
			return os.Remove(path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove stale locks: %w", err)
	}
	if _, err := os.Stat(c.gitDir("HEAD")); err == nil {
		return nil
	}
	_, err = c.git(ctx, "init", "--quiet", "--template=")
	return err
}

func (c *clone) gitDir(elem ...string) string {
	return filepath.Join(append([]string{c.dir, ".git"}, elem...)...)
}

// begin is for a remote without our branch. One that has no branch at all is
// new, and our first push makes the branch; else the configuration is wrong.
func (c *clone) begin(ctx context.Context) error {
	out, err := c.git(ctx, "ls-remote", "--heads", "origin")
	if err != nil {
		return err
	}
	if out != "" {
		return missingBranch(c.branch, out)
	}
	// An older clone may hold a history that the remote no longer has.
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("remove old clone: %w", err)
	}
	c.unborn = true
	return c.start(ctx)
}

func missingBranch(branch, heads string) error {
	var names []string
	for line := range strings.Lines(heads) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "\trefs/heads/"); ok {
			names = append(names, name)
		}
	}
	return &platforms.Error{
		Platform: platform, Op: "fetch", Kind: platforms.Unauthorized, Code: codeNoBranch,
		Message: fmt.Sprintf("branch %q does not exist, there is %s; set branch", branch, strings.Join(names, ", ")),
	}
}

// git runs one command in the clone and returns what it printed on standard
// output.
func (c *clone) git(ctx context.Context, args ...string) (string, error) {
	return c.run(ctx, nil, "", args...)
}

// run is git with further environment and with standard input. The command has
// a process group of its own, which ends with ctx as a whole.
func (c *clone) run(ctx context.Context, env []string, stdin string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Dir = c.dir
	// Told where the repository is, git does not look for one in the folders
	// above, where herald may itself be somebody's work tree.
	cmd.Env = slices.Concat(c.env, []string{"GIT_DIR=" + c.gitDir()}, env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if c.lock != nil {
		cmd.ExtraFiles = []*os.File{c.lock}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGTERM) }
	cmd.WaitDelay = stopGrace

	began := time.Now()
	failpoint.Hit("git/before")
	err := cmd.Run()
	failpoint.Hit("git/after")
	c.log.DebugContext(ctx, "git", "command", args[0], "duration", time.Since(began), "ok", err == nil)
	if err == nil {
		return stdout.String(), nil
	}
	failure := &commandError{command: args[0], dir: c.dir, exit: -1, started: cmd.Process != nil, err: err}
	failure.text = c.hide.Replace(stdout.String() + "\n" + stderr.String())
	if cmd.Process != nil {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // helpers that outlived their git, if any
	}
	switch exit, ok := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		failure.err, failure.text = context.Cause(ctx), ""
	case ok:
		failure.exit = exit.ExitCode()
	}
	return "", failure
}
