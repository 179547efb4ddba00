package builtin

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/config"
	"herald/platforms"
	"herald/platforms/site"
)

func TestEveryTypeIsListed(t *testing.T) {
	if got, want := Types(), []string{"git", "site", "wechat", "weibo", "xiaohongshu"}; !slices.Equal(got, want) {
		t.Errorf("Types() = %v, want %v", got, want)
	}
	for name := range Adapters() {
		if !slices.Contains(Types(), name) {
			t.Errorf("Adapters() has %q, which is no type", name)
		}
	}
}

func TestAdviceIsTheAdapters(t *testing.T) {
	if got := Advice("site"); got != site.Advice {
		t.Errorf("Advice(site) = %+v, want %+v", got, site.Advice)
	}
	if got := Advice("none"); got != (platforms.Advice{}) {
		t.Errorf("Advice(none) = %+v, want none", got)
	}
}

// exampleTargets returns the list of targets of the example, with those that are
// comments.
func exampleTargets(t *testing.T) string {
	t.Helper()
	example, err := os.ReadFile("../../config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(example), "\ntargets:\n")
	return "targets:\n" + regexp.MustCompile(`(?m)^  #([- ] )`).ReplaceAllString(list, "  $1")
}

func TestEveryTargetOfTheExampleIsConstructed(t *testing.T) {
	dir, err := os.MkdirTemp("", "herald") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "config.yaml")
	for path, text := range map[string]string{file: exampleTargets(t), filepath.Join(dir, "git.token"): "hush"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(file, Adapters())
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, target := range cfg.Targets {
		if p, err := New(target, env(cfg.Base)); err != nil || p == nil {
			t.Errorf("New(%s) = %v, %v", target.Name, p, err)
		}
		used = append(used, target.Type)
	}
	if slices.Sort(used); !slices.Equal(used, Types()) {
		t.Errorf("the example has targets of types %v, want %v", used, Types())
	}
}

func TestTheExampleNamesEveryKeyOfEveryType(t *testing.T) {
	text := exampleTargets(t)
	for name, a := range Adapters() {
		for field := range reflect.TypeOf(a.Config).Fields() {
			key := field.Tag.Get("mapstructure")
			if !regexp.MustCompile(`(?m)^[ #-]*(?:` + key + `|` + key + `_file):`).MatchString(text) {
				t.Errorf("config.example.yaml does not name %s of %s", key, name)
			}
		}
	}
}

func TestWhatCannotBeConstructedSaysWhy(t *testing.T) {
	tests := []struct {
		name   string
		target config.Target
		want   string
	}{
		{"an unknown type", config.Target{Name: "a", Type: "wordperfect"}, `target a: "wordperfect" is no type of target; the types are git, site`},
		{"a misspelt type", config.Target{Name: "a", Type: "sit"}, `target a: "sit" is no type of target; did you mean site? the types are git, site`},
		{"an unknown key", config.Target{Name: "a", Type: "site", Options: map[string]any{"dri": "x"}}, "target a: unknown key dri; did you mean dir?"},
		{"a fault of the adapter", config.Target{Name: "a", Type: "site", Options: map[string]any{"per_page": -1}}, "target a: per_page: -1 is negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := New(tt.target, env(t.TempDir()))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if p != nil {
				t.Errorf("platform %v, want nil", p)
			}
		})
	}
}

func TestAFailedConstructorLeavesNoPlatform(t *testing.T) {
	fault := errors.New("out of order")
	k := adapter(func(struct{}, platforms.Env) (*site.Client, error) { return nil, fault }, platforms.Advice{Timeout: time.Second})
	p, err := k.construct(config.Target{}, platforms.Env{})
	if !errors.Is(err, fault) || p != nil {
		t.Errorf("got %v, %v; want nil and the fault", p, err)
	}
}

func env(base string) platforms.Env {
	return platforms.Env{Target: "a", Dir: filepath.Join(base, "own"), Base: base, Location: time.UTC, Log: slog.New(slog.DiscardHandler)}
}
