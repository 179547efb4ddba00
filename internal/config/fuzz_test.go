package config

import (
	"os"
	"testing"
)

func FuzzLoad(f *testing.F) {
	if data, err := os.ReadFile(example); err == nil {
		f.Add(data)
	}
	for _, seed := range []string{
		minimal, before, shown, "a: &a [*a]", "<<: {a: 1}", "? [x]\n: y", "targets: [[{}]]", "queue: {settle: {a: 1}}",
		"quality: {providers: [1, {}]}", "defaults: []", "1: 2", "targets: [{name: a, type: wechat, sign: 1, relays: {}, base_url: [[]]}]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := load(data, "/nowhere/config.yaml", "config.yaml", "/nowhere", adapters())
		if (cfg == nil) == (err == nil) {
			t.Fatalf("configuration %v and error %v", cfg, err)
		}
		if cfg == nil {
			return
		}
		_ = cfg.Redacted()
		for _, target := range cfg.Targets {
			_ = target.Schedule().String()
			_ = target.Warnings()
		}
	})
}
