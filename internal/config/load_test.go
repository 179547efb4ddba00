package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"herald/platforms"
)

func TestWithoutAFileItRunsOnDefaults(t *testing.T) {
	write(t, "") // only to have a working directory; it is not looked for
	cfg, err := Load("", adapters())
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := os.Getwd()
	data := filepath.Join(dir, "herald-data")
	want := defaultConfig()
	want.Base, want.DataDir = dir, data
	if want.Location, err = time.LoadLocation(want.Timezone); err != nil {
		t.Fatal(err)
	}
	want.Queue.Dir, want.Control.Socket = filepath.Join(data, "queue"), filepath.Join(data, "herald.sock")
	blog := defaultTarget()
	blog.Name, blog.Type = "blog", "site"
	blog.Options = map[string]any{"dir": filepath.Join(data, "site")}
	blog.Pace.Every, blog.Lookup = 0, Lookup{AbsentAfter: 0, Times: 1}
	want.Targets = []Target{blog}
	if diff := cmp.Diff(&want, cfg, cmpopts.IgnoreUnexported(Config{}), sameZone); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

var sameZone = cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })

func TestTheWholeContractIsRead(t *testing.T) {
	cfg := mustLoad(t, `
data_dir: /var/lib/herald
timezone: Asia/Shanghai
skip_if_late: 24h
queue: { dir: "in", settle: 3s, sweep: "@every 1m", keep: 0 }
control: { socket: "run/s.sock", mode: "0600" }
http: { listen: "" }
log: { level: debug, format: json }
quality:
  providers:
    - { base_url: "https://a.example/v1", api_key: k, model: m }
    - { base_url: "https://b.example/v1", model: n, timeout: 2m, json_mode: object, max_tokens: 0, max_chars: 2000, headers: { X-Key: v }, extra: { enable_thinking: false, seed: ~ } }
  pass_score: 1
  deadline: 3m
  prompt_file: prompt.txt
  words: /etc/herald/words.txt
  on_degraded: hold
  recheck: 0
targets:
  - { name: mp, type: wechat, app_id: "1", app_secret: s, base_url: "https://a.example, https://b.example", enabled: false }
  - name: second-mp
    type: wechat
    app_id: "2"
    concurrency: 4
    headers: { X-Key: Value }
    breaker: { consecutive: 9 }
`)
	dir, _ := os.Getwd()
	got := []any{
		cfg.File, cfg.Base, cfg.DataDir, cfg.Location.String(), cfg.SkipIfLate, cfg.Queue, cfg.Control, cfg.HTTP, cfg.Log,
		cfg.Quality, cfg.Targets[0].Enabled, cfg.Targets[0].Options,
		cfg.Targets[1].Concurrency, cfg.Targets[1].Breaker, cfg.Targets[1].Options,
	}
	want := []any{
		filepath.Join(dir, "config.yaml"), dir, "/var/lib/herald", "Asia/Shanghai", 24 * time.Hour,
		Queue{Dir: filepath.Join(dir, "in"), Settle: 3 * time.Second, Sweep: "@every 1m"},
		Control{Socket: filepath.Join(dir, "run/s.sock"), Mode: 0o600},
		HTTP{},
		Log{Level: "debug", Format: "json"},
		Quality{
			Providers: []Provider{
				{BaseURL: "https://a.example/v1", APIKey: "k", Model: "m", JSONMode: "auto", MaxTokens: 4096, MaxChars: 8000},
				{
					BaseURL: "https://b.example/v1", Model: "n", Timeout: 2 * time.Minute, JSONMode: "object", MaxChars: 2000,
					Headers: map[string]platforms.Secret{"X-Key": "v"}, Extra: map[string]any{"enable_thinking": false, "seed": nil},
				},
			},
			PassScore: 1, Timeout: 30 * time.Second, Deadline: 3 * time.Minute,
			PromptFile: filepath.Join(dir, "prompt.txt"), Words: "/etc/herald/words.txt", OnDegraded: HoldDegraded,
		},
		false,
		map[string]any{"app_id": "1", "app_secret": "s", "base_url": "https://a.example, https://b.example"},
		4,
		Breaker{Consecutive: 9, FailureRatio: 0.5, Window: time.Minute, MinCalls: 10, OpenFor: time.Minute, Probes: 1},
		map[string]any{"app_id": "2", "headers": map[string]any{"X-Key": "Value"}},
	}
	for i := range want {
		if diff := cmp.Diff(want[i], got[i]); diff != "" {
			t.Errorf("%d: -want +got\n%s", i, diff)
		}
	}
}

func TestTargetComesBeforeDefaultsBeforeAdviceBeforeBuiltIn(t *testing.T) {
	cfg := mustLoad(t, `
defaults: { timeout: 50s, lookup: { times: 7 }, retry: { base: 1m } }
targets:
  - { name: advised, type: wechat, app_id: a }
  - { name: own, type: wechat, app_id: a, timeout: 5s, pace: { burst: 2 }, lookup: { absent_after: 0 }, retry: { max: 2h } }
  - { name: unadvised, type: plain }
  - { name: freed, type: site }
`)
	type values struct {
		Timeout time.Duration
		Pace    Pace
		Lookup  Lookup
		Base    time.Duration
		Max     time.Duration
	}
	const s, m, h = time.Second, time.Minute, time.Hour
	want := map[string]values{
		"advised":   {50 * s, Pace{3 * s, 1}, Lookup{90 * s, 7}, m, 6 * h},
		"own":       {5 * s, Pace{3 * s, 2}, Lookup{0, 7}, m, 2 * h},
		"unadvised": {50 * s, Pace{2 * s, 1}, Lookup{60 * s, 7}, m, 6 * h},
		"freed":     {50 * s, Pace{0, 1}, Lookup{0, 7}, m, 6 * h},
	}
	got := map[string]values{}
	for _, t := range cfg.Targets {
		got[t.Name] = values{t.Timeout, t.Pace, t.Lookup, t.Retry.Base, t.Retry.Max}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAnEmptyKeyKeepsTheDefault(t *testing.T) {
	cfg := mustLoad(t, "queue:\nhttp: { listen: ~ }\ndefaults:\n  retry:\n"+minimal)
	if cfg.Queue.Settle != 2*time.Second || cfg.HTTP.Listen != "127.0.0.1:7788" || cfg.Targets[0].Retry != defaultTarget().Retry {
		t.Errorf("settle %v, listen %q, retry %+v", cfg.Queue.Settle, cfg.HTTP.Listen, cfg.Targets[0].Retry)
	}
}

func TestAnchorsAndMergesAreFollowed(t *testing.T) {
	cfg := mustLoad(t, `
targets:
  - &first { name: a, type: wechat, app_id: x, retry: { attempts: 3 } }
  - { <<: *first, name: b, app_id: y }
`)
	if b := cfg.Targets[1]; b.Name != "b" || b.Type != "wechat" || b.Retry.Attempts != 3 || b.Options["app_id"] != "y" {
		t.Errorf("merged target %+v", b)
	}
}

// other returns, as text, a valid value of key that is not its default.
func other(key string, value any) string {
	texts := map[string]string{
		"timezone": "UTC", "log.level": "debug", "log.format": "json", "retry.strategy": "fixed",
		"http.listen": "127.0.0.1:1", "type": "plain", "defaults.retry.strategy": "fixed",
		"quality.providers[0].base_url": "https://c.example", "notify[0].url": "https://c.example", "notify[0].type": "webhook",
		"quality.on_degraded": "hold", "quality.providers[0].json_mode": "off",
		"quality.providers[0].headers": "{ X-Key: v }", "quality.providers[0].extra": "{ seed: 1 }",
	}
	switch value := value.(type) {
	case time.Duration:
		return (value + time.Second).String()
	case int:
		return fmt.Sprint(value + 1)
	case float64:
		return "0.25"
	case bool:
		return fmt.Sprint(!value)
	case fs.FileMode:
		return "0600"
	}
	if text, ok := texts[key]; ok {
		return text
	}
	return "/else/where" // a path, a cron spec, a secret: any text
}

// TestEveryKeyCanBeSetFromTheEnvironment walks the structs, so that no key is
// forgotten.
func TestEveryKeyCanBeSetFromTheEnvironment(t *testing.T) {
	const file = `
quality: { providers: [ { base_url: "https://a.example", model: m } ] }
notify: [ { type: webhook, url: "https://a.example" } ]
targets: [ { name: my-blog, type: plain }, { name: z, type: plain } ]
`
	check := func(key string, before any, read func(*Config) any) {
		t.Run(key, func(t *testing.T) {
			text := other(strings.TrimPrefix(key, "targets.my-blog."), before)
			path := write(t, file)
			name := variable(key)
			t.Setenv(name, text)
			isTwin := strings.HasSuffix(key, "_file") && key != "quality.prompt_file"
			if isTwin {
				save(t, "secret", "hush")
				t.Setenv(name, "secret")
			}
			cfg, err := Load(path, adapters())
			if err != nil {
				t.Fatal(err)
			}
			got := read(cfg)
			want, err := convert(reflect.ValueOf(text), reflect.ValueOf(before))
			if err != nil {
				t.Fatal(err)
			}
			if isTwin {
				want = platforms.Secret("hush")
			}
			if fmt.Sprint(reveal(got)) != fmt.Sprint(reveal(want)) || reflect.DeepEqual(got, before) {
				t.Errorf("%s=%s gives %v, was %v", name, text, got, before)
			}
			if len(cfg.Warnings) > 0 {
				t.Errorf("warnings %q", cfg.Warnings)
			}
		})
	}
	for _, key := range globalKeys {
		at := func(c *Config) any { return value(reflect.ValueOf(*c), key) }
		before := at(new(defaultConfig()))
		if field, ok := strings.CutPrefix(key, "quality.providers[]."); ok {
			field = strings.TrimSuffix(field, "_file")
			key = strings.Replace(key, "[]", "[0]", 1)
			at = func(c *Config) any { return value(reflect.ValueOf(c.Quality.Providers[0]), field) }
			before = value(reflect.ValueOf(defaultProvider()), field)
		}
		if field, ok := strings.CutPrefix(key, "notify[]."); ok {
			field = strings.TrimSuffix(field, "_file")
			key = strings.Replace(key, "[]", "[0]", 1)
			at = func(c *Config) any { return value(reflect.ValueOf(c.Notify[0]), field) }
			before = value(reflect.ValueOf(Channel{}), field)
		}
		check(key, before, at)
	}
	builtin := reflect.ValueOf(defaultTarget())
	for _, key := range targetKeys[1:] {
		check("targets.my-blog."+key, value(builtin, key), func(c *Config) any { return value(reflect.ValueOf(c.Targets[0]), key) })
	}
	for _, key := range sharedKeys {
		check("defaults."+key, value(builtin, key), func(c *Config) any { return value(reflect.ValueOf(c.Targets[1]), key) })
	}
}

func reveal(v any) any {
	switch v := v.(type) {
	case platforms.Secret:
		return v.Reveal()
	case map[string]platforms.Secret:
		plain := map[string]any{}
		for name, secret := range v {
			plain[name] = secret.Reveal()
		}
		return plain
	}
	return v
}

func TestTheEnvironmentReachesTheAdaptersKeys(t *testing.T) {
	file := write(t, "targets: [ { name: my-wx, type: wechat, app_id: a, app_secret_file: nowhere, sign: { name: n } } ]")
	t.Setenv("HERALD_TARGETS_MY_WX_APP_SECRET", "hush")
	t.Setenv("HERALD_TARGETS_MY_WX_BASE_URL", "https://a.example,https://b.example")
	t.Setenv("HERALD_TARGETS_MY_WX_SIGN_KEY", "deep")
	t.Setenv("HERALD_TARGETS_MY_WX_LIMIT", "7")
	t.Setenv("HERALD_TARGETS_MY_WX_DRAFT", "true")
	cfg, err := Load(file, adapters())
	if err != nil {
		t.Fatal(err)
	}
	want := &wechat{
		Common: Common{BaseURL: []string{"https://a.example", "https://b.example"}},
		AppID:  "a", AppSecret: "hush", Limit: 7, Draft: true, Sign: &sign{Name: "n", Key: "deep"},
	}
	var got wechat
	if err := Decode(cfg.Targets[0].Options, cfg.Base, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got, cmpopts.IgnoreUnexported(wechat{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(any(want), cfg.options["my-wx"], cmpopts.IgnoreUnexported(wechat{})); diff != "" {
		t.Errorf("checked: -want +got\n%s", diff)
	}
}

func TestAVariableThatIsNoSettingIsWarnedOf(t *testing.T) {
	file := write(t, minimal)
	t.Setenv("HERALD_QUEUE_SETLE", "1s")
	t.Setenv("HERALD_TARGETS_BLGO_DIR", "x")
	t.Setenv("HERALD_SOMETHING_ELSE_ALTOGETHER", "x")
	t.Setenv("HERALD_CONFIG", file)
	t.Setenv("HERALD_EMPTY", "")
	cfg, err := Load(file, adapters())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"HERALD_QUEUE_SETLE is set but is no setting; did you mean HERALD_QUEUE_SETTLE?",
		"HERALD_SOMETHING_ELSE_ALTOGETHER is set but is no setting; see config.example.yaml for the keys",
		"HERALD_TARGETS_BLGO_DIR is set but is no setting; did you mean HERALD_TARGETS_BLOG_DIR?",
	}
	if diff := cmp.Diff(want, cfg.Warnings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAnEmptyVariableIsNotSet(t *testing.T) {
	file := write(t, minimal)
	t.Setenv("HERALD_QUEUE_SETTLE", "")
	t.Setenv("HERALD_HTTP_LISTEN", "off")
	cfg, err := Load(file, adapters())
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Queue.Settle != 2*time.Second || cfg.HTTP.Listen != "" {
		t.Errorf("settle %v, listen %q", cfg.Queue.Settle, cfg.HTTP.Listen)
	}
}

func TestTheZoneOfTheMachineIsNeverReadAsUTCInSilence(t *testing.T) { // B74
	file := write(t, "timezone: Local\n"+minimal)
	t.Setenv("TZ", "Asia/Shanghai")
	cfg, err := Load(file, adapters())
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Location.String(); got != "Asia/Shanghai" {
		t.Errorf("location %s", got)
	}
	t.Setenv("TZ", "CST-8")
	_, err = Load(file, adapters())
	if want := "config.yaml:1: timezone: TZ=CST-8 is no known zone; write a name such as Asia/Shanghai or UTC"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// example is the file that the documentation points to.
const example = "../../config.example.yaml"

func TestTheExampleStatesTheDefaults(t *testing.T) {
	data, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	// What would override advice is a comment; here it counts.
	stated := regexp.MustCompile(`(?m)^  # (timeout:|pace:|lookup:|  (?:every|burst|absent_after|times):)`).ReplaceAllString(text, "  $1")
	for name, text := range map[string]string{"as it is": text, "with all values": stated} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Load(write(t, text), nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := load([]byte("targets: [ { name: blog, type: site, dir: ./site } ]"), cfg.File, "", cfg.Base, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, cfg, cmpopts.IgnoreUnexported(Config{}), cmpopts.EquateEmpty(), sameZone); diff != "" {
				t.Errorf("-built in +stated\n%s", diff)
			}
		})
	}
	l := newLoader("", "", nil)
	l.parse([]byte(stated))
	for _, key := range fileKeys() {
		if l.faults.lines[key] == 0 && !inList(key) {
			t.Errorf("%s does not mention %s", example, key)
		}
	}
	for _, key := range []string{"base_url", "api_key_file", "api_key", "model", "enabled"} {
		if !strings.Contains(text, key+":") {
			t.Errorf("%s does not mention %s", example, key)
		}
	}
}

func TestEveryFieldHasAKey(t *testing.T) {
	untagged := regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+|\[\]\.[a-z0-9_]+)*$`)
	for _, key := range slices.Concat(globalKeys, targetKeys) {
		if !untagged.MatchString(key) {
			t.Errorf("%q is not a key", key)
		}
	}
}
