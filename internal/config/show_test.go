package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "renew the golden files")

const shown = `
data_dir: /var/lib/herald
timezone: Asia/Shanghai
control: { mode: "0600" }
quality:
  providers: [ { base_url: "https://user:hunter2@a.example/v1?key=hunter2", api_key: hunter2, model: "yes", headers: { X-Key: hunter2 }, extra: { seed: 1 } } ]
defaults: { retry: { base: 90s } }
targets:
  - { name: wx, type: wechat, app_id: "0123", app_secret: hunter2, sign: { name: n, key: hunter2 }, relays: [ { url: "https://hunter2@b.example", token: hunter2 } ], headers: { B: "2", A: "1" } }
  - { name: off, type: wechat, enabled: false, app_id: "1", app_secret: hunter2 }
  - { name: blog, type: site, url: "ssh://git@c.example/x" }
`

func TestTheEffectiveConfigurationIsShownWithoutSecrets(t *testing.T) {
	golden, err := filepath.Abs("testdata/shown.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg := mustLoad(t, shown)
	cfg.File = "/etc/herald/config.yaml"
	got := cfg.Redacted()
	if strings.Contains(got, "hunter2") {
		t.Error("a secret is shown")
	}
	if *update {
		save(t, golden, got)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestWhatIsShownCanBeLoadedAgain(t *testing.T) {
	for name, text := range map[string]string{"minimal": minimal, "with an adapter": "targets: [ { name: wx, type: wechat, app_id: \"0\", base_url: a } ]"} {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoad(t, text)
			save(t, "config.yaml", cfg.Redacted())
			again, err := Load("config.yaml", adapters())
			if err != nil {
				t.Fatal(err)
			}
			options := cmpopts.IgnoreFields(Target{}, "Options") // a comma list comes back as a list
			if diff := cmp.Diff(cfg, again, cmpopts.IgnoreUnexported(Config{}), sameZone, options, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-first +again\n%s", diff)
			}
			if diff := cmp.Diff(cfg.options, again.options, cmpopts.IgnoreUnexported(wechat{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("options: -first +again\n%s", diff)
			}
		})
	}
}
