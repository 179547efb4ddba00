package wechat

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"herald/article/dialect"
	"herald/platforms"
)

// The two modes: who presses the button that shows the article to readers.
const (
	modeDraft   = "draft"
	modePublish = "publish"
)

// Config describes one Official Account.
type Config struct {
	// AppID and AppSecret are the account's credential. The secret may be left out
	// with a token_url.
	AppID     string           `mapstructure:"app_id"`
	AppSecret platforms.Secret `mapstructure:"app_secret"`
	// BaseURL is the platform, or relays to it that are tried in order; by default
	// https://api.weixin.qq.com.
	BaseURL []string `mapstructure:"base_url"`
	// TokenURL is a service of the operator's that hands out the account's token,
	// where several programs share it. It is asked by GET and answers as the
	// platform does: {"access_token": "…", "expires_in": 7200}. TokenKey is sent to
	// it as a bearer token.
	TokenURL string           `mapstructure:"token_url"`
	TokenKey platforms.Secret `mapstructure:"token_key"`

	// Mode is draft (the default: an editor publishes by hand) or publish, which
	// only a verified account may do. An article may say otherwise.
	Mode string `mapstructure:"mode"`
	// NeedOpenComment opens comments, OnlyFansCanComment to followers only. An
	// article may say otherwise.
	NeedOpenComment    bool `mapstructure:"need_open_comment"`
	OnlyFansCanComment bool `mapstructure:"only_fans_can_comment"`
	// Author stands for articles that name none.
	Author string `mapstructure:"author"`
	// Cover is a picture for articles that have none. A relative path starts from
	// the folder of the configuration file.
	Cover string `mapstructure:"cover"`

	// ImageReferers are the pages that hosts want to be named before they give out a
	// picture, as host=address.
	ImageReferers []string `mapstructure:"image_referers"`

	// Theme is a built-in look, CSSFile the operator's own CSS on top of it.
	Theme   string `mapstructure:"theme"`
	CSSFile string `mapstructure:"css_file"`
	// PlainCode leaves code without colours, for articles that are near the limit
	// of 20,000 characters.
	PlainCode bool `mapstructure:"plain_code"`
	// MathCommand and MermaidCommand draw formulas and diagrams: a program and its
	// arguments. It gets the source on stdin and writes a picture to stdout; the
	// environment variable HERALD_KIND is math, math-block or mermaid.
	MathCommand    []string `mapstructure:"math_command"`
	MermaidCommand []string `mapstructure:"mermaid_command"`

	// PollsPerDay is how often a day the platform is asked how publications are
	// doing; by default 90 of the 100 that a new account has.
	PollsPerDay int `mapstructure:"polls_per_day"`
}

// withDefaults fills in what is empty and makes paths absolute.
func (c Config) withDefaults(base string) Config {
	if len(c.BaseURL) == 0 {
		c.BaseURL = []string{"https://api.weixin.qq.com"}
	}
	c.BaseURL = slices.Clone(c.BaseURL)
	for i := range c.BaseURL {
		c.BaseURL[i] = strings.TrimSuffix(c.BaseURL[i], "/")
	}
	c.Mode = cmp.Or(c.Mode, modeDraft)
	c.PollsPerDay = cmp.Or(c.PollsPerDay, 90)
	for _, path := range []*string{&c.Cover, &c.CSSFile} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(base, *path)
		}
	}
	return c
}

// Validate returns all faults of the configuration, each with its key.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.AppID == "" {
		fault("app_id: is empty; write the AppID of the account (wx…)")
	}
	if c.AppSecret == "" && c.TokenURL == "" {
		fault("app_secret: is empty; write it, or name a token_url that hands out the token")
	}
	for _, address := range c.BaseURL {
		if err := checkAddress(address); err != nil {
			fault("base_url: %w", err)
		}
	}
	if c.TokenURL != "" {
		if err := checkAddress(c.TokenURL); err != nil {
			fault("token_url: %w", err)
		}
	} else if c.TokenKey != "" {
		fault("token_key: is only used with a token_url")
	}
	if c.Mode != "" && c.Mode != modeDraft && c.Mode != modePublish {
		fault("mode: %q is not known; use %s or %s", c.Mode, modeDraft, modePublish)
	}
	if c.Theme != "" && !slices.Contains(dialect.Themes(), c.Theme) {
		fault("theme: %q is not known; there are %s", c.Theme, strings.Join(dialect.Themes(), ", "))
	}
	if n := dialect.Characters(c.Author); n > maxAuthor {
		fault("author: has %d characters, %d are allowed", n, maxAuthor)
	}
	for _, pair := range c.ImageReferers {
		host, address, _ := strings.Cut(pair, "=")
		if host == "" || checkAddress(address) != nil {
			fault("image_referers: %q is not host=address; write it like img.example.com=https://example.com/", pair)
		}
	}
	if c.PollsPerDay < 0 {
		fault("polls_per_day: %d is negative", c.PollsPerDay)
	}
	return errors.Join(faults...)
}

// referers are the pages that hosts want to be named, by host.
func (c Config) referers() map[string]string {
	pages := map[string]string{}
	for _, pair := range c.ImageReferers {
		host, address, _ := strings.Cut(pair, "=")
		pages[strings.ToLower(host)] = address
	}
	return pages
}

func checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return errors.New("is no web address; write it like https://example.com") // err would repeat what it holds
	case u.User != nil:
		return errors.New("holds a user name or password")
	}
	return nil
}
