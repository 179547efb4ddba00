package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The trailers by which a commit is recognised.
const (
	trailerKey      = "Publish-Key"
	trailerRevision = "Publish-Revision"
)

// mark is what a commit carries to be found again.
type mark struct {
	key      string
	revision int
}

// message is a commit's text. The title is one line, and the trailers are a
// paragraph of their own, so that no title can look like one.
func message(verb, title string, m mark) string {
	subject := verb + " " + strings.Join(strings.Fields(title), " ")
	if m.key == "" {
		return subject + "\n"
	}
	return fmt.Sprintf("%s\n\n%s: %s\n%s: %d\n", subject, trailerKey, m.key, trailerRevision, m.revision)
}

// trailer is the format of the values of a commit's trailer.
func trailer(name string) string { return "%(trailers:key=" + name + ",valueonly,separator=%x2C)" }

// published returns the newest revision of key in the history of the remote
// branch; 0 if there is none. After a sync this is exact.
func (c *clone) published(ctx context.Context, key string) (int, error) {
	if c.unborn {
		return 0, nil
	}
	out, err := c.git(ctx, "log", "--fixed-strings", "--grep="+trailerKey+": "+key,
		"--format="+trailer(trailerKey)+"%x09"+trailer(trailerRevision), c.tracking())
	if err != nil {
		return 0, err
	}
	newest := 0
	for line := range strings.Lines(out) {
		keys, revisions, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !slices.Contains(strings.Split(keys, ","), key) {
			continue // the text only speaks of the key
		}
		for revision := range strings.SplitSeq(revisions, ",") {
			n, err := strconv.Atoi(revision)
			if err != nil {
				n = 1 // somebody rewrote the message; the key still counts
			}
			newest = max(newest, n)
		}
	}
	return newest, nil
}

// changed says which commit of somebody else changed or removed a page last; empty
// if the last one is herald's.
func (c *clone) changed(ctx context.Context, page string) (string, error) {
	out, err := c.git(ctx, "log", "--max-count=1", "--format=%h%x09"+trailer(trailerKey), c.tracking(), "--", page)
	if err != nil {
		return "", err
	}
	commit, keys, _ := strings.Cut(strings.TrimSpace(out), "\t")
	if commit == "" || keys != "" {
		return "", nil
	}
	files, err := c.tracked(ctx, page)
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return fmt.Sprintf("commit %s removed %s", commit, page), nil
	}
	return fmt.Sprintf("commit %s changed %s", commit, page), nil
}

// written returns the files below paths that herald's commits have touched.
func (c *clone) written(ctx context.Context, paths ...string) (map[string]bool, error) {
	if c.unborn {
		return map[string]bool{}, nil
	}
	args := []string{"log", "--full-history", "--fixed-strings", "--grep=" + trailerKey + ": ", "--format=", "--name-only", "-z", c.tracking(), "--"}
	out, err := c.git(ctx, append(args, paths...)...)
	if err != nil {
		return nil, err
	}
	return set(out), nil
}

// tracked returns the files below paths that are on the branch.
func (c *clone) tracked(ctx context.Context, paths ...string) (map[string]bool, error) {
	out, err := c.git(ctx, append([]string{"ls-files", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	return set(out), nil
}

// set reads a list of names that end with a NUL.
func set(list string) map[string]bool {
	names := map[string]bool{}
	for name := range strings.SplitSeq(list, "\x00") {
		if name = strings.TrimPrefix(name, "\n"); name != "" {
			names[name] = true
		}
	}
	return names
}

// stage puts files into the index as they are in the work tree, or are not, and
// reports whether that is a change to the branch. It goes by name, so neither a
// .gitignore nor anything else in the tree has a say.
func (c *clone) stage(ctx context.Context, files map[string]bool) (bool, error) {
	names := slices.Sorted(maps.Keys(files))
	list := strings.Join(names, "\x00") + "\x00"
	if _, err := c.run(ctx, nil, list, "update-index", "--add", "--remove", "-z", "--stdin"); err != nil {
		return false, err
	}
	_, err := c.git(ctx, "diff", "--cached", "--quiet")
	if e, ok := errors.AsType[*commandError](err); ok && e.exit == 1 {
		return true, nil
	}
	return false, err
}

// push commits what is staged and pushes it. With the same parent and the same
// moment the commit is the same one, however often it is made.
func (c *clone) push(ctx context.Context, message string, at time.Time) error {
	date := fmt.Sprintf("%d %s", at.Unix(), at.Format("-0700"))
	dates := []string{"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}
	if _, err := c.run(ctx, dates, message, "commit", "--quiet", "--no-verify", "--file=-"); err != nil {
		return err
	}
	_, err := c.git(ctx, "push", "--porcelain", "origin", "HEAD:refs/heads/"+c.branch)
	return err
}

// probe asks the remote for the right to push, from an empty repository of its
// own: neither the clone nor its lock is needed, and nothing is sent.
func (r *repo) probe(ctx context.Context) error {
	if ctx.Err() != nil {
		return ended(ctx, "probe")
	}
	dir, err := os.MkdirTemp("", "herald-git-")
	if err != nil {
		return asError(fmt.Errorf("make folder for the probe: %w", err))
	}
	defer os.RemoveAll(dir)
	inDir := *r
	inDir.dir = dir
	return asError((&clone{repo: &inDir}).dryRun(ctx))
}

func (c *clone) dryRun(ctx context.Context) error {
	if err := c.start(ctx); err != nil {
		return err
	}
	heads, err := c.git(ctx, "ls-remote", "--heads", "origin")
	if err != nil {
		return err
	}
	if heads != "" && !strings.Contains(heads, "\trefs/heads/"+c.branch+"\n") {
		return missingBranch(c.branch, heads)
	}
	tree, err := c.git(ctx, "mktree") // of nothing
	if err != nil {
		return err
	}
	commit, err := c.run(ctx, nil, "probe", "commit-tree", strings.TrimSpace(tree))
	if err != nil {
		return err
	}
	_, err = c.git(ctx, "push", "--porcelain", "--dry-run", "origin", strings.TrimSpace(commit)+":refs/heads/herald-probe")
	return err
}
