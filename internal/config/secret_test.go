package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herald/platforms"
)

const wxWith = "targets:\n  - { name: wx, type: wechat, app_id: a, "

func TestASecretIsReadFromItsFile(t *testing.T) {
	file := write(t, wxWith+"app_secret_file: wx.key, sign: { key_file: ./sub/sign.key }, relays: [ { token_file: wx.key } ] }\n"+
		"quality: { providers: [ { base_url: https://a.example, model: m, api_key_file: wx.key } ] }")
	save(t, "wx.key", "\n  hush hush \n\n")
	if err := os.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	save(t, "sub/sign.key", "-----BEGIN-----\nline\n-----END-----\n")
	abs, _ := filepath.Abs(file)
	t.Chdir("/") // paths start from the file's folder, not from here
	cfg, err := Load(abs, adapters())
	if err != nil {
		t.Fatal(err)
	}
	w := cfg.options["wx"].(*wechat)
	got := []platforms.Secret{w.AppSecret, w.Sign.Key, w.Relays[0].Token, cfg.Quality.Providers[0].APIKey}
	want := []platforms.Secret{"hush hush", "-----BEGIN-----\nline\n-----END-----", "hush hush", "hush hush"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(cfg.Warnings) > 0 {
		t.Errorf("warnings %q", cfg.Warnings)
	}
	var own wechat
	if err := Decode(cfg.Targets[0].Options, cfg.Base, &own); err != nil || own.AppSecret != "hush hush" {
		t.Errorf("Decode: %v, secret %q", err, own.AppSecret.Reveal())
	}
	if printed := fmt.Sprintf("%v %+v %#v", cfg.Targets, cfg.Targets, cfg.Targets); strings.Contains(printed, "hush") {
		t.Errorf("the options print a secret: %s", printed)
	}
}

func TestASecretThatCannotBeReadSaysWhy(t *testing.T) {
	tests := []struct {
		name, keys, want string
	}{
		{"both", "app_secret: x, app_secret_file: wx.key", "app_secret is set too; keep one of the two"},
		{"missing", "app_secret_file: none.key", "@/none.key does not exist; create it with the secret in it"},
		{"empty", "app_secret_file: empty.key", "@/empty.key is empty; put the secret into it"},
		{"folder", "app_secret_file: .", "@ is not a file with a secret"},
		{"huge", "app_secret_file: huge.key", "@/huge.key is not a file with a secret"},
		{"number", "app_secret_file: 5", "not a path; put the value in quotes"},
		{"credential without systemd", "app_secret_file: \"${CREDENTIALS_DIRECTORY}/wx\"", "CREDENTIALS_DIRECTORY is not set; systemd sets it for a unit with LoadCredential="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("CREDENTIALS_DIRECTORY", "")
			file := write(t, wxWith+tt.keys+" }\n")
			save(t, "wx.key", "hush")
			save(t, "empty.key", " \n")
			save(t, "huge.key", strings.Repeat("x", maxSecret+1))
			dir, _ := os.Getwd()
			want := "config.yaml:2: targets.wx.app_secret_file: " + strings.ReplaceAll(tt.want, "@", dir)
			if _, err := Load(file, adapters()); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestASecretOfAnotherUserSaysWhoseItMustBe(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root can read every file")
	}
	file := write(t, wxWith+"app_secret_file: wx.key }\n")
	save(t, "wx.key", "hush")
	if err := os.Chmod("wx.key", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file, adapters()); err == nil || !strings.HasSuffix(err.Error(), "wx.key cannot be read; give it to the user herald runs as") {
		t.Errorf("error %v", err)
	}
}

func TestTheEnvironmentOverridesEitherTwin(t *testing.T) {
	for name, tt := range map[string]struct{ keys, variable, value, want string }{
		"text over file": {"app_secret_file: none.key", "HERALD_TARGETS_WX_APP_SECRET", "from env", "from env"},
		"file over text": {"app_secret: in file", "HERALD_TARGETS_WX_APP_SECRET_FILE", "wx.key", "hush"},
		"file over file": {"app_secret_file: none.key", "HERALD_TARGETS_WX_APP_SECRET_FILE", "wx.key", "hush"},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, wxWith+tt.keys+" }\n")
			save(t, "wx.key", "hush")
			t.Setenv(tt.variable, tt.value)
			cfg, err := Load(file, adapters())
			if err != nil {
				t.Fatal(err)
			}
			if got := cfg.options["wx"].(*wechat).AppSecret.Reveal(); got != tt.want {
				t.Errorf("checked secret %q, want %q", got, tt.want)
			}
			var own wechat
			if err := Decode(cfg.Targets[0].Options, cfg.Base, &own); err != nil || own.AppSecret.Reveal() != tt.want {
				t.Errorf("decoded secret %q, %v; want %q", own.AppSecret.Reveal(), err, tt.want)
			}
		})
	}
}

func TestASecretThatOthersCanReadIsWarnedOf(t *testing.T) {
	file := write(t, wxWith+"app_secret_file: wx.key }\n")
	save(t, "wx.key", "hush")
	if err := os.Chmod("wx.key", 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(file, adapters())
	if err != nil {
		t.Fatal(err)
	}
	key, _ := filepath.Abs("wx.key")
	want := []string{"targets.wx.app_secret_file: " + key + " can be read by others (0644); chmod 600 " + key}
	if diff := cmp.Diff(want, cfg.Warnings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestASystemdCredentialIsFoundAndNotWarnedOf(t *testing.T) {
	file := write(t, wxWith+"app_secret_file: \"${CREDENTIALS_DIRECTORY}/wx\" }\n")
	credentials := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	path := filepath.Join(credentials, "wx")
	save(t, path, "hush\n")
	if err := os.Chmod(path, 0o440); err != nil { // as an access list shows
		t.Fatal(err)
	}
	cfg, err := Load(file, adapters())
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.options["wx"].(*wechat).AppSecret.Reveal(); got != "hush" {
		t.Errorf("secret %q", got)
	}
	if len(cfg.Warnings) > 0 {
		t.Errorf("warnings %q", cfg.Warnings)
	}
}

func TestAKeyOfItsOwnIsNoTwin(t *testing.T) {
	var own struct {
		Key     platforms.Secret `mapstructure:"key"`
		KeyFile string           `mapstructure:"key_file"`
	}
	if err := Decode(map[string]any{"key_file": "a/path"}, "/", &own); err != nil || own.KeyFile != "a/path" || own.Key != "" {
		t.Errorf("%+v, %v", own, err)
	}
}
