package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"herald/platforms"
)

// wechat is an adapter's configuration with all that one may have.
type wechat struct {
	Common    `mapstructure:",squash"`
	AppID     string            `mapstructure:"app_id"`
	AppSecret platforms.Secret  `mapstructure:"app_secret"`
	Wait      time.Duration     `mapstructure:"wait"`
	Limit     uint16            `mapstructure:"limit"`
	Draft     bool              `mapstructure:"draft"`
	Headers   map[string]string `mapstructure:"headers"`
	Sign      *sign             `mapstructure:"sign"`
	Relays    []relay           `mapstructure:"relays"`
	hidden    string
}

type Common struct {
	BaseURL []string `mapstructure:"base_url"`
}

type sign struct {
	Name string           `mapstructure:"name"`
	Key  platforms.Secret `mapstructure:"key"`
}

type relay struct {
	URL   string           `mapstructure:"url"`
	Token platforms.Secret `mapstructure:"token"`
}

// Validate wants an app_id.
func (w *wechat) Validate() error {
	_ = w.hidden
	var faults []error
	if w.AppID == "" {
		faults = append(faults, errors.New("app_id: missing; copy it from the console"))
	}
	if w.Limit > 100 {
		faults = append(faults, errors.New("the limit is too high"))
	}
	return errors.Join(faults...)
}

type blog struct {
	Dir string `mapstructure:"dir"`
	URL string `mapstructure:"url"`
}

func adapters() map[string]Adapter {
	return map[string]Adapter{
		"site": {Config: blog{}, Advice: platforms.Advice{Pace: -1, AbsentAfter: -1, AbsentTimes: 1}},
		"wechat": {Config: wechat{}, Advice: platforms.Advice{
			Pace: 3 * time.Second, Timeout: 45 * time.Second, AbsentAfter: 90 * time.Second, AbsentTimes: 3,
		}},
		"plain": {Config: struct{}{}},
	}
}

const minimal = "targets: [ { name: blog, type: site } ]\n"

// write puts text into config.yaml of a new folder and makes that the working
// directory, so that messages are short.
func write(t *testing.T, text string) (file string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "herald") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	save(t, "config.yaml", text)
	return "config.yaml"
}

func save(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mustLoad loads text as config.yaml.
func mustLoad(t *testing.T, text string) *Config {
	t.Helper()
	cfg, err := Load(write(t, text), adapters())
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return cfg
}

// faultsOf loads text as config.yaml, which must be refused.
func faultsOf(t *testing.T, text string) []string {
	t.Helper()
	cfg, err := Load(write(t, text), adapters())
	if err == nil {
		t.Fatalf("Load accepts it: %+v", cfg)
	}
	return strings.Split(err.Error(), "\n")
}
