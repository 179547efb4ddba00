package wechat

import (
	"strings"
	"testing"

	"herald/platforms"
)

func TestAFaultyConfigurationNamesItsKeys(t *testing.T) {
	good := Config{AppID: "wx1", AppSecret: "s"}
	tests := []struct {
		name   string
		change func(*Config)
		key    string // empty: nothing is wrong
	}{
		{"the least", func(*Config) {}, ""},
		{"a token service instead of the secret", func(c *Config) { c.AppSecret, c.TokenURL, c.TokenKey = "", "https://tokens.example.com/wx", "k" }, ""},
		{"no app_id", func(c *Config) { c.AppID = "" }, "app_id"},
		{"no secret", func(c *Config) { c.AppSecret = "" }, "app_secret"},
		{"a base_url that is none", func(c *Config) { c.BaseURL = []string{"https://ok.example.com", "api.weixin.qq.com"} }, "base_url"},
		{"a password in an address", func(c *Config) { c.BaseURL = []string{"https://me:hush@example.com"} }, "base_url"},
		{"a token_url that is none", func(c *Config) { c.TokenURL = "tokens" }, "token_url"},
		{"a token_key without its service", func(c *Config) { c.TokenKey = "k" }, "token_key"},
		{"an unknown mode", func(c *Config) { c.Mode = "live" }, "mode"},
		{"an unknown theme", func(c *Config) { c.Theme = "neon" }, "theme"},
		{"an author who is too long", func(c *Config) { c.Author = strings.Repeat("长", maxAuthor+1) }, "author"},
		{"a referer without its host", func(c *Config) { c.ImageReferers = []string{"https://example.com"} }, "image_referers"},
		{"negative polls", func(c *Config) { c.PollsPerDay = -1 }, "polls_per_day"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := good
			tt.change(&c)
			err := c.Validate()
			if (err == nil) != (tt.key == "") || err != nil && !strings.HasPrefix(err.Error(), tt.key+": ") {
				t.Errorf("error %v, want one of %q", err, tt.key)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("error %v says the password", err)
			}
			if _, err := New(c, testEnv(t, nil)); (err == nil) != (tt.key == "") {
				t.Errorf("New: %v", err)
			}
		})
	}
}

func TestTargetsOfOneAccountShareItsName(t *testing.T) {
	a, err := New(Config{AppID: "wx1", AppSecret: "s"}, testEnv(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(Config{AppID: "wx1", AppSecret: "s", Mode: modePublish}, testEnv(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(Config{AppID: "wx2", AppSecret: "s"}, testEnv(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if a.Account() != "wx1" || a.account != b.account || a.account == other.account {
		t.Error("targets of one account do not share it, or others do")
	}
	var _ platforms.Accounter = a
}
