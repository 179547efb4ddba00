package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryFaultNamesPlaceKeyAndRemedy(t *testing.T) {
	target := func(keys string) string { return "targets:\n  - { name: blog, type: site, " + keys + " }\n" }
	wx := func(keys string) string { return "targets:\n  - { name: wx, type: wechat, app_id: a, " + keys + " }\n" }
	provider := func(keys string) string {
		return "quality:\n  providers: [ { base_url: https://a.example, model: m, " + keys + " } ]\n" + minimal
	}
	tests := []struct {
		name string
		yaml string
		want []string
	}{
		{"misspelt key", "queue:\n  setle: 2s\n" + minimal, []string{"config.yaml:2: unknown key queue.setle; did you mean queue.settle?"}},
		{"misspelt section", "\nqueu: { settle: 2s }\n" + minimal, []string{"config.yaml:2: unknown key queu; did you mean queue?"}},
		{"key of another section", "retry: { base: 1m }\n" + minimal, []string{"config.yaml:1: unknown key retry; did you mean defaults.retry?"}},
		{"key in capitals", "Data_Dir: x\n" + minimal, []string{"config.yaml:1: unknown key Data_Dir; did you mean data_dir?"}},
		{"key of nowhere", "log: { colour: true }\n" + minimal, []string{"config.yaml:1: unknown key log.colour; possible here: level, format"}},
		{"key of a provider", "quality:\n  providers:\n    - { base_url: https://a.example, modl: m, model: m }\n" + minimal, []string{"config.yaml:3: unknown key quality.providers[0].modl; did you mean quality.providers[0].model?"}},
		{"misspelt list", "quality: { provider: [] }\n" + minimal, []string{"config.yaml:1: unknown key quality.provider; did you mean quality.providers?"}},
		{"misspelt key of a target", target("retry: { bsae: 1m }"), []string{"config.yaml:2: unknown key targets.blog.retry.bsae; did you mean targets.blog.retry.base?"}},
		{"misspelt common key of a target", target("tmeout: 1m"), []string{"config.yaml:2: unknown key targets.blog.tmeout; did you mean targets.blog.timeout?"}},
		{"misspelt key of an adapter", target("dri: x"), []string{"config.yaml:2: unknown key targets.blog.dri; did you mean targets.blog.dir?"}},
		{"key of a section, one level up", target("attempts: 3"), []string{"config.yaml:2: unknown key targets.blog.attempts; did you mean targets.blog.retry.attempts?"}},
		{"misspelt key deep in an adapter", wx("relays: [ { url: x }, { tokn: y } ]"), []string{"config.yaml:2: unknown key targets.wx.relays[1].tokn; did you mean targets.wx.relays[1].token?"}},
		{"name among the defaults", "defaults: { name: x }\n" + minimal, []string{"config.yaml:1: unknown key defaults.name; possible here: timeout, concurrency, pace, retry, lookup, review, probe, breaker, remove_twins"}},

		{"value for a section", "queue: 2s\n" + minimal, []string{"config.yaml:1: queue: a value stands where keys belong; write queue: { dir: … }"}},
		{"value for a section of a target", target("pace: 2s"), []string{"config.yaml:2: targets.blog.pace: a value stands where keys belong; write pace: { every: … }"}},
		{"section for a value", "timezone: { name: UTC }\n" + minimal, []string{"config.yaml:1: timezone: not a text; put the value in quotes"}},
		{"value for a list", "quality: { providers: x }\n" + minimal, []string{"config.yaml:1: quality.providers: a list of keys belongs here; write providers: [ { base_url: … } ]"}},
		{"bare number as a duration", "queue: { settle: 2 }\n" + minimal, []string{"config.yaml:1: queue.settle: 2 has no unit; write 2s, 2m or 2h"}},
		{"days", "queue: { keep: 90d }\n" + minimal, []string{`config.yaml:1: queue.keep: "90d": days are no unit; write 2160h`}},
		{"nonsense as a duration", "grace: soon\n" + minimal, []string{`config.yaml:1: grace: "soon" is not a duration; write it like 2s, 10m or 72h`}},
		{"list as a duration", "grace: [ 1s ]\n" + minimal, []string{"config.yaml:1: grace: not a duration; write it like 2s, 10m or 72h"}},
		{"negative duration", "skip_if_late: -1h\n" + minimal, []string{"config.yaml:1: skip_if_late: -1h is negative; write a positive duration such as 30s"}},
		{"zero where there must be time", target("timeout: 0"), []string{"config.yaml:2: targets.blog.timeout: 0 is too short; write a duration such as 30s"}},
		{"number for a text", wx("app_secret: 0123"), []string{"config.yaml:2: targets.wx.app_secret: not a text; put the value in quotes"}},
		{"text for a number", target("retry: { attempts: many }"), []string{"config.yaml:2: targets.blog.retry.attempts: not a whole number"}},
		{"fraction for a whole number", target("concurrency: 1.5"), []string{"config.yaml:2: targets.blog.concurrency: not a whole number"}},
		{"text for a share", target("retry: { jitter: some }"), []string{"config.yaml:2: targets.blog.retry.jitter: not a number"}},
		{"text for a switch", target("enabled: maybe"), []string{"config.yaml:2: targets.blog.enabled: neither true nor false"}},
		{"number for a mode", "control: { mode: 0660 }\n" + minimal, []string{`config.yaml:1: control.mode: not permission bits; write octal digits in quotes, such as "0660"`}},
		{"no permission bits", "control: { mode: \"1777\" }\n" + minimal, []string{`config.yaml:1: control.mode: not permission bits; write octal digits in quotes, such as "0660"`}},
		{"map for a list", wx("base_url: { a: b }"), []string{"config.yaml:2: targets.wx.base_url: not a list; write it like [ one, two ]"}},
		{"number in a list", wx("base_url: [ a, 1 ]"), []string{"config.yaml:2: targets.wx.base_url[1]: not a text; put the value in quotes"}},

		{"unknown zone", "timezone: Mars/Olympus\n" + minimal, []string{"config.yaml:1: timezone: Mars/Olympus is no known zone; write a name such as Asia/Shanghai or UTC"}},
		{"empty sweep", "queue: { sweep: \"\" }\n" + minimal, []string{`config.yaml:1: queue.sweep: empty; write a cron spec such as "@every 30s"`}},
		{"address without a port", "http: { listen: localhost }\n" + minimal, []string{`config.yaml:1: http.listen: "localhost" is not host:port; write 127.0.0.1:7788, or off`}},
		{"unknown level", "log: { level: wran }\n" + minimal, []string{`config.yaml:1: log.level: "wran" is not known; did you mean warn?`}},
		{"unknown format", "log: { format: xml }\n" + minimal, []string{`config.yaml:1: log.format: "xml" is not known; write one of text, json`}},
		{"unknown strategy", target("retry: { strategy: random }"), []string{`config.yaml:2: targets.blog.retry.strategy: "random" is not known; write one of exponential, incremental, fixed`}},
		{"share out of range", target("retry: { jitter: 1.1 }, breaker: { failure_ratio: .nan }"), []string{
			"config.yaml:2: targets.blog.breaker.failure_ratio: NaN is out of range; write a number from 0 to 1",
			"config.yaml:2: targets.blog.retry.jitter: 1.1 is out of range; write a number from 0 to 1",
		}},
		{"ratio of nothing", target("breaker: { failure_ratio: 0 }"), []string{"config.yaml:2: targets.blog.breaker.failure_ratio: 0 opens the breaker without a failure; to switch the rule off, set min_calls: 0"}},
		{"negative count", target("retry: { attempts: -1 }"), []string{"config.yaml:2: targets.blog.retry.attempts: -1 is too few; write 0 or more"}},
		{"endless attempts", target("retry: { attempts: 1000000 }"), []string{"config.yaml:2: targets.blog.retry.attempts: 1000000 are too many; write at most 10000, or 0 for no limit"}},
		{"no worker", target("concurrency: 0"), []string{"config.yaml:2: targets.blog.concurrency: 0 is too few; write 1 or more"}},
		{"longest wait below the default's first", target("review: { max: 5s }"), []string{"config.yaml:2: targets.blog.review.max: review.max (5s) is shorter than review.every (10s); raise it to at least that"}},
		{"longest wait below the first", target("retry: { base: 12h }"), []string{"config.yaml:2: targets.blog.retry.base: retry.max (6h) is shorter than retry.base (12h); raise it to at least that"}},
		{"provider without address and model", "quality:\n  providers: [ { api_key: k } ]\n" + minimal, []string{
			"config.yaml:2: quality.providers[0].base_url: missing; write one such as https://api.openai.com/v1",
			"config.yaml:2: quality.providers[0].model: missing; name the model to ask",
		}},
		{"provider asked in an unknown way", provider("json_mode: jsn, max_tokens: -1, max_chars: 100, timeout: -1s, headers: x"), []string{
			`config.yaml:2: quality.providers[0].headers: not keys; write it like { key: value }`,
			`config.yaml:2: quality.providers[0].json_mode: "jsn" is not known; write one of auto, schema, object, off`,
			"config.yaml:2: quality.providers[0].max_chars: 100 is too few; write 500 or more",
			"config.yaml:2: quality.providers[0].max_tokens: -1 is too few; write 0 or more",
			"config.yaml:2: quality.providers[0].timeout: -1s is negative; write a positive duration such as 30s",
		}},
		{"check without time", "quality: { deadline: 0, recheck: -1m, on_degraded: holt }\n" + minimal, []string{
			"config.yaml:1: quality.deadline: 0 is too short; write a duration such as 30s",
			`config.yaml:1: quality.on_degraded: "holt" is not known; did you mean hold?`,
			"config.yaml:1: quality.recheck: -1m is negative; write a positive duration such as 30s",
		}},
		{"call longer than the check", "quality: { timeout: 2m }\n" + minimal, []string{"config.yaml:1: quality.deadline: deadline (1m) is shorter than timeout (2m); raise it to at least that"}},
		{"provider at no address", "quality:\n  providers: [ { base_url: \"ftp://u:p@a\", model: m } ]\n" + minimal, []string{"config.yaml:2: quality.providers[0].base_url: not an address; write one such as https://api.openai.com/v1"}},

		{"fault of a default is told once", "defaults:\n  retry: { jitter: 2 }\ntargets: [ { name: a, type: site }, { name: b, type: site } ]\n", []string{"config.yaml:2: defaults.retry.jitter: 2 is out of range; write a number from 0 to 1"}},
		{"fault of a default that every target overrides", "defaults:\n  timeout: 5\n" + target("timeout: 5s"), []string{"config.yaml:2: defaults.timeout: 5 has no unit; write 5s, 5m or 5h"}},

		{"no targets", "data_dir: x\n", []string{"config.yaml: targets: there is nothing to publish to; add a target such as - { name: blog, type: site, dir: ./site }"}},
		{"empty file", "", []string{"config.yaml: targets: there is nothing to publish to; add a target such as - { name: blog, type: site, dir: ./site }"}},
		{"empty targets", "targets: []\n", []string{"config.yaml:1: targets: there is nothing to publish to; add a target such as - { name: blog, type: site, dir: ./site }"}},
		{"targets as keys", "targets: { blog: { type: site } }\n", []string{"config.yaml:1: targets: not a list; write - { name: blog, type: site, dir: ./site }"}},
		{"target as a text", "targets: [ blog ]\n", []string{"config.yaml:1: targets[0]: not a target; write - { name: blog, type: site, dir: ./site }"}},
		{"target without a name", "targets:\n  - { type: site }\n", []string{"config.yaml:2: targets[0].name: missing; give the target a short name such as blog"}},
		{"target without a type", "targets:\n  - { name: blog }\n", []string{"config.yaml:2: targets.blog.type: missing; say what the target is, such as type: site"}},
		{"unknown type", "targets:\n  - { name: blog, type: wechta }\n", []string{`config.yaml:2: targets.blog.type: "wechta" is not known; did you mean wechat?`}},
		{"capitals in a name", "targets:\n  - { name: My Blog, type: site }\n", []string{`config.yaml:2: targets[0].name: "My Blog" is not a name; use lower-case letters, digits, - and _, with a letter or digit first`}},
		{"number for a name", "targets:\n  - { name: 1, type: site }\n", []string{`config.yaml:2: targets[0].name: "1" is not a name; use lower-case letters, digits, - and _, with a letter or digit first`}},
		{"name of a front-matter key", "targets:\n  - { name: tags, type: site }\n", []string{`config.yaml:2: targets[0].name: "tags" is a key of an article's front matter; choose another name`}},
		{"name taken", "targets:\n  - { name: my-blog, type: site }\n  - { name: my_blog, type: site }\n", []string{`config.yaml:3: targets[1].name: "my_blog" is taken by a target above (- and _ count as the same); choose another name`}},

		{"adapter misses a key", "targets:\n  - name: wx\n    type: wechat\n", []string{"config.yaml:2: targets.wx.app_id: missing; copy it from the console"}},
		{"number too large", wx("limit: 70000"), []string{"config.yaml:2: targets.wx.limit: too large"}},
		{"adapter refuses as a whole", wx("limit: 200"), []string{"config.yaml:2: targets.wx: the limit is too high"}},

		{"broken YAML", "queue: { settle: 2s\n" + minimal, []string{"config.yaml:1: did not find expected ',' or '}'"}},
		{"tab", "queue:\n\tsettle: 2s\n", []string{"config.yaml:2: found character that cannot start any token; indent with spaces, and quote a value that begins with a special character"}},
		{"key twice", "queue:\n  settle: 2s\n  settle: 3s\n" + minimal, []string{`config.yaml:3: mapping key "settle" already defined at line 2`}},
		{"wrong tag, with a secret", wx("app_secret: !!int hunter2"), []string{"config.yaml: cannot decode !!str a value as a !!int"}},
		{"alias of itself", "targets: &x [ *x ]\n", []string{"config.yaml: anchor 'x' value contains itself"}},
		{"two documents", minimal + "---\n" + minimal, []string{"config.yaml: only one document is read; remove what follows the second ---"}},
		{"a list", "- 1\n", []string{"config.yaml: the file is not a list of keys; begin with one, such as data_dir: ./herald-data"}},
		{"a text", "hello\n", []string{"config.yaml: the file is not a list of keys; begin with one, such as data_dir: ./herald-data"}},
		{"no UTF-8", "data_dir: \xff\n", []string{"config.yaml: invalid leading UTF-8 octet"}},

		{"all at once, in the order of the file", "timezone: Nowhere\nqueue:\n  settle: 2\n  setle: 2s\ndefaults:\n  probe: { every: 9h }\ntargets:\n  - { name: Wx, type: wechat, limit: -1 }\n  - { name: b, type: stie }\n", []string{
			"config.yaml:1: timezone: Nowhere is no known zone; write a name such as Asia/Shanghai or UTC",
			"config.yaml:3: queue.settle: 2 has no unit; write 2s, 2m or 2h",
			"config.yaml:4: unknown key queue.setle; did you mean queue.settle?",
			"config.yaml:6: defaults.probe.max: probe.max (6h) is shorter than probe.every (9h); raise it to at least that",
			"config.yaml:8: targets[0].app_id: missing; copy it from the console",
			`config.yaml:8: targets[0].limit: negative`,
			`config.yaml:8: targets[0].name: "Wx" is not a name; use lower-case letters, digits, - and _, with a letter or digit first`,
			`config.yaml:9: targets.b.type: "stie" is not known; did you mean site?`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := faultsOf(t, tt.yaml)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if strings.Contains(strings.Join(got, ""), "hunter2") {
				t.Error("a secret is told")
			}
		})
	}
}

func TestAFaultOfTheEnvironmentNamesTheVariable(t *testing.T) {
	file := write(t, minimal)
	t.Setenv("HERALD_QUEUE_SETTLE", "2")
	t.Setenv("HERALD_DEFAULTS_RETRY_JITTER", "2")
	t.Setenv("HERALD_TARGETS_BLOG_CONCURRENCY", "0")
	t.Setenv("HERALD_TARGETS_BLOG_TYPE", "stie")
	_, err := Load(file, adapters())
	if err == nil {
		t.Fatal("accepted")
	}
	want := []string{
		"HERALD_DEFAULTS_RETRY_JITTER: defaults.retry.jitter: 2 is out of range; write a number from 0 to 1",
		"HERALD_QUEUE_SETTLE: queue.settle: 2 has no unit; write 2s, 2m or 2h",
		"HERALD_TARGETS_BLOG_CONCURRENCY: targets.blog.concurrency: 0 is too few; write 1 or more",
		`HERALD_TARGETS_BLOG_TYPE: targets.blog.type: "stie" is not known; did you mean site?`,
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestALongSocketPathIsRefusedWithARemedy(t *testing.T) {
	socket := "/" + strings.Repeat("d", 103)
	got := faultsOf(t, "control: { socket: "+socket+" }\n"+minimal)
	want := []string{"config.yaml:1: control.socket: " + socket + " has 104 bytes, the path of a socket at most 103; set control.socket to a short one such as /run/herald/herald.sock"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	mustLoad(t, "control: { socket: "+socket[:103]+" }\n"+minimal)
}

func TestAMissingFileSaysWhatToDo(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := Load("nowhere.yaml", adapters())
	if err == nil || !strings.HasSuffix(err.Error(), "nowhere.yaml: no such file or directory; name an existing file with --config, or none to run on defaults") {
		t.Errorf("error %v", err)
	}
}

func TestADisabledTargetNeedsNotBeComplete(t *testing.T) {
	cfg := mustLoad(t, "targets: [ { name: wx, type: wechat, enabled: false, app_secret_file: nowhere }, { name: b, type: site } ]")
	if cfg.Targets[0].Enabled {
		t.Error("it is enabled")
	}
}

func TestWithoutAdaptersTypesAreNotChecked(t *testing.T) {
	cfg, err := Load(write(t, "targets: [ { name: a, type: b, c: d } ]"), nil)
	if err != nil || cfg.Targets[0].Options["c"] != "d" {
		t.Errorf("%+v, %v", cfg, err)
	}
}
