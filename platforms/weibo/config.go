package weibo

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"herald/platforms"
)

// Limits of statuses/share. Weibo's own pages say 140; apps with a grant for long
// texts are said to have 2,000.
const (
	defaultLength = 140
	maxLength     = 2000
	minLength     = 40 // room for a link and a few words
)

// Config describes one account of one app.
type Config struct {
	// AccessToken is what the account's authorisation of the app gave.
	AccessToken platforms.Secret `mapstructure:"access_token"`
	// LinkDomain is the security domain of the app: a post without a link on it is
	// refused. Links to a subdomain count.
	LinkDomain string `mapstructure:"link_domain"`
	// LinkPattern is the address of an article that has no canonical_url on
	// LinkDomain, with :slug, :year, :month and :day; by default the domain's home
	// page.
	LinkPattern string `mapstructure:"link_pattern"`
	// MaxLength of a text in characters, ASCII counting half; by default 140.
	MaxLength int `mapstructure:"max_length"`
	// RIP is the public address of whoever posts, which the platform asks for; by
	// default 127.0.0.1.
	RIP string `mapstructure:"rip"`
	// ImageReferers are the pages that hosts want to be named before they give out a
	// picture, as host=address.
	ImageReferers []string `mapstructure:"image_referers"`
	// BaseURL is where the API is, by default https://api.weibo.com. The next one of
	// a list is tried only when the one before was certainly not reached.
	BaseURL []string `mapstructure:"base_url"`
}

// withDefaults fills in what is empty.
func (c Config) withDefaults() Config {
	c.LinkPattern = cmp.Or(c.LinkPattern, "https://"+c.LinkDomain+"/")
	c.MaxLength = cmp.Or(c.MaxLength, defaultLength)
	c.RIP = cmp.Or(c.RIP, "127.0.0.1")
	c.BaseURL = slices.Clone(c.BaseURL)
	for i, base := range c.BaseURL {
		c.BaseURL[i] = strings.TrimRight(base, "/")
	}
	if len(c.BaseURL) == 0 {
		c.BaseURL = []string{"https://api.weibo.com"}
	}
	return c
}

// Validate returns all faults of the configuration, each with its key. Empty
// fields but access_token and link_domain are no fault: they have defaults.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.AccessToken == "" {
		fault("access_token: is empty; authorise the app with the account and write the token here, or its file as access_token_file")
	}
	switch {
	case c.LinkDomain == "":
		fault("link_domain: is empty; write the security domain of the app, such as example.com: Weibo refuses posts without a link on it")
	case strings.ContainsAny(c.LinkDomain, "/: "):
		fault("link_domain: %q is no domain; write it like example.com", c.LinkDomain)
	case c.LinkPattern != "" && !isOn(c.LinkPattern, c.LinkDomain):
		fault("link_pattern: %q is no address on %s; write it like https://%[2]s/posts/:slug/", c.LinkPattern, c.LinkDomain)
	}
	if c.MaxLength != 0 && (c.MaxLength < minLength || c.MaxLength > maxLength) {
		fault("max_length: %d is not between %d and %d", c.MaxLength, minLength, maxLength)
	}
	if _, err := netip.ParseAddr(c.RIP); c.RIP != "" && err != nil {
		fault("rip: %q is no IP address", c.RIP)
	}
	for _, base := range c.BaseURL {
		if !isAddress(base) {
			fault("base_url: is no address; write it like https://api.weibo.com")
		}
	}
	for _, pair := range c.ImageReferers {
		host, address, _ := strings.Cut(pair, "=")
		if host == "" || !isAddress(address) {
			fault("image_referers: %q is not host=address; write it like img.example.com=https://example.com/", pair)
		}
	}
	return errors.Join(faults...)
}

// isAddress reports whether a text is the address of a service.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == ""
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

// isOn reports whether an address is on a domain or one below it.
func isOn(address, domain string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	host, domain := strings.ToLower(u.Hostname()), strings.ToLower(domain)
	return host == domain || strings.HasSuffix(host, "."+domain)
}
