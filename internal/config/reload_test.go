package config

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const before = `
data_dir: /var/lib/herald
targets:
  - { name: wx, type: wechat, app_id: a, app_secret_file: wx.key }
  - { name: blog, type: site, dir: a }
  - { name: old, type: plain }
`

// reloader loads text and returns the file it was in.
func reloader(t *testing.T, text string) (r *Reloader, file string) {
	t.Helper()
	write(t, text)
	save(t, "wx.key", "hush")
	cfg, err := Load("config.yaml", adapters())
	if err != nil {
		t.Fatal(err)
	}
	return NewReloader(cfg), cfg.File
}

func TestOnlyTheValuesThatMayChangeComeIntoForce(t *testing.T) {
	tests := []struct {
		name             string
		after            string
		applied, restart []string
	}{
		{"nothing", before, nil, nil},
		{"a default, where it is not overridden", "defaults: { retry: { base: 1m }, breaker: { consecutive: 9 } }" + before, []string{
			"targets.wx.retry.base", "targets.wx.breaker.consecutive", "targets.blog.retry.base", "targets.blog.breaker.consecutive",
			"targets.old.retry.base", "targets.old.breaker.consecutive",
		}, nil},
		{"every value of a target that may", strings.Replace(before, "dir: a", "dir: a, timeout: 9s, pace: { every: 9s }, lookup: { times: 9 }, review: { every: 9s }, probe: { every: 9m }", 1), []string{
			"targets.blog.timeout", "targets.blog.pace.every", "targets.blog.lookup.times", "targets.blog.review.every", "targets.blog.probe.every",
		}, nil},
		{"both sorts at once", strings.Replace(before, "dir: a", "dir: b, concurrency: 3, timeout: 9s", 1), []string{"targets.blog.timeout"}, []string{"targets.blog.concurrency", "targets.blog.dir"}},
		{"global values", "queue: { settle: 9s }\ntimezone: UTC" + before, nil, []string{"timezone", "queue.settle"}},
		{"a target more, one fewer", strings.Replace(before, "name: old", "name: new", 1), nil, []string{"targets.old", "targets.new"}},
		{"a target switched off", strings.Replace(before, "dir: a", "dir: a, enabled: false", 1), nil, []string{"targets.blog.enabled"}},
		{"another type brings other advice, all with a restart", strings.Replace(before, "type: plain", "type: site", 1), nil, []string{"targets.old.type", "targets.old.pace.every", "targets.old.lookup.absent_after", "targets.old.lookup.times"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, file := reloader(t, before)
			save(t, file, tt.after)
			c, err := r.Reload()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.applied, c.Applied); diff != "" {
				t.Errorf("applied: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.restart, c.Restart); diff != "" {
				t.Errorf("restart: -want +got\n%s", diff)
			}
			if r.Config() != c.Config {
				t.Error("the configuration in force is another than the reported one")
			}
			if again, err := r.Reload(); err != nil || len(again.Applied) > 0 {
				t.Errorf("a second reload applies %v, %v", again.Applied, err)
			}
		})
	}
}

func TestWhatNeedsARestartKeepsItsOldValue(t *testing.T) {
	r, file := reloader(t, before)
	save(t, file, "queue: { settle: 9s }"+strings.Replace(before, "dir: a", "dir: b, concurrency: 3, timeout: 9s", 1))
	c, err := r.Reload()
	if err != nil {
		t.Fatal(err)
	}
	blog := c.Config.Targets[1]
	if blog.Timeout != 9*time.Second || blog.Concurrency != 1 || blog.Options["dir"] != "a" || c.Config.Queue.Settle != 2*time.Second {
		t.Errorf("in force: %+v, settle %v", blog, c.Config.Queue.Settle)
	}
}

func TestANewSecretInAnOldFileNeedsARestart(t *testing.T) {
	r, _ := reloader(t, before)
	save(t, "wx.key", "another")
	c, err := r.Reload()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"targets.wx.app_secret"}, c.Restart); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAnInvalidFileIsRefusedAsAWhole(t *testing.T) {
	r, file := reloader(t, before)
	old := r.Config()
	save(t, file, "defaults: { timeout: 5s, retry: { base: 1 } }"+before)
	c, err := r.Reload()
	if want := "config.yaml:1: defaults.retry.base: 1 has no unit; write 1s, 1m or 1h"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if r.Config() != old || c.Config != old {
		t.Error("the old configuration is not in force")
	}
}

func TestAReloadWithoutAFileReadsTheEnvironment(t *testing.T) {
	write(t, "")
	cfg, err := Load("", adapters())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HERALD_DEFAULTS_TIMEOUT", "7s")
	c, err := NewReloader(cfg).Reload()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"targets.blog.timeout"}, c.Applied); diff != "" || len(c.Restart) > 0 {
		t.Errorf("restart %v, applied -want +got\n%s", c.Restart, diff)
	}
}

// report is one call of Watch's report.
type report struct {
	Change
	err error
}

// watch runs Watch until the test ends.
func watch(t *testing.T, r *Reloader, hup <-chan os.Signal) <-chan report {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reports, done := make(chan report, 16), make(chan struct{})
	go func() {
		defer close(done)
		r.Watch(ctx, hup, func(c Change, err error) { reports <- report{c, err} })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		close(reports)
		for extra := range reports {
			t.Errorf("one report too many: %+v", extra)
		}
	})
	return reports
}

func TestAChangedFileIsReloaded(t *testing.T) {
	save := map[string]func(t *testing.T, file, text string){
		"written in place": save,
		"put into place": func(t *testing.T, file, text string) {
			save(t, file+".new", text)
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
		},
		"gone for a moment": func(t *testing.T, file, text string) {
			if err := os.Rename(file, file+"~"); err != nil {
				t.Fatal(err)
			}
			save(t, file, text)
		},
	}
	for name, save := range save {
		t.Run(name, func(t *testing.T) {
			r, file := reloader(t, before)
			reports := watch(t, r, nil)
			for _, base := range []string{"1m", "2m"} {
				save(t, file, "defaults: { retry: { base: "+base+" } }"+before)
				got := <-reports
				if got.err != nil || short(got.Config.Targets[0].Retry.Base) != base {
					t.Fatalf("base %v, %v; want %s", got.Config.Targets[0].Retry.Base, got.err, base)
				}
			}
			save(t, file, "defaults: { retry: { base: 2 } }"+before)
			if got := <-reports; got.err == nil {
				t.Fatal("an invalid file is accepted")
			}
			if base := short(r.Config().Targets[0].Retry.Base); base != "2m" {
				t.Errorf("base %v after an invalid file", base)
			}
		})
	}
}

func TestAChangeBetweenLoadAndWatchIsNotMissed(t *testing.T) {
	r, file := reloader(t, before)
	save(t, file, "defaults: { timeout: 9s }"+before)
	if got := <-watch(t, r, nil); got.err != nil || got.Config.Targets[0].Timeout != 9*time.Second {
		t.Errorf("%+v", got)
	}
}

func TestALinkedFileIsWatched(t *testing.T) { // as Kubernetes and Nix lay it out
	dir := linked(t)
	link := filepath.Join(dir, "config.yaml")
	cfg, err := Load(link, adapters())
	if err != nil {
		t.Fatal(err)
	}
	reports := watch(t, NewReloader(cfg), nil)
	save(t, filepath.Join(dir, "real", "herald.yaml"), "defaults: { timeout: 9s }\n"+minimal)
	if got := <-reports; got.err != nil || got.Config.Targets[0].Timeout != 9*time.Second {
		t.Fatalf("the file behind the link: %+v", got)
	}
	next := filepath.Join(dir, "next.yaml")
	save(t, next, "defaults: { timeout: 8s }\n"+minimal)
	if err := os.Symlink(next, link+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		t.Fatal(err)
	}
	if got := <-reports; got.err != nil || got.Config.Targets[0].Timeout != 8*time.Second {
		t.Errorf("another link: %+v", got)
	}
}

// linked returns a folder whose config.yaml is a link to real/herald.yaml.
func linked(t *testing.T) (dir string) {
	t.Helper()
	abs, err := filepath.Abs(write(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Dir(abs)
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	save(t, filepath.Join(dir, "real", "herald.yaml"), minimal)
	if err := os.Remove(abs); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("real", "herald.yaml"), abs); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAHangupReloadsAlsoAnUnchangedFile(t *testing.T) {
	r, _ := reloader(t, before)
	hup := make(chan os.Signal)
	reports := watch(t, r, hup)
	t.Setenv("HERALD_DEFAULTS_TIMEOUT", "7s")
	hup <- os.Interrupt // which signal it is does not matter
	if got := <-reports; got.err != nil || got.Config.Targets[0].Timeout != 7*time.Second {
		t.Errorf("%+v", got)
	}
}

func TestAFileThatCannotBeWatchedIsSaidOnce(t *testing.T) {
	r, file := reloader(t, before)
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	reports := watch(t, r, nil)
	if got := <-reports; got.err == nil || !strings.Contains(got.err.Error(), "changes are read on SIGHUP only") {
		t.Errorf("error %v", got.err)
	}
	if got := <-reports; got.err == nil || !strings.Contains(got.err.Error(), "no such file") {
		t.Errorf("error %v", got.err)
	}
}
