package xiaohongshu

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"herald/platforms"
)

// Config describes one account: one instance of the interface.
type Config struct {
	// ImageReferers are the pages that hosts want to be named before they give out a
	// picture, as host=address.
	ImageReferers []string `mapstructure:"image_referers"`
	// BaseURL is where the interface is, by default http://127.0.0.1:18060.
	BaseURL []string `mapstructure:"base_url"`
	// Token that the interface asks for; empty if it asks for none.
	Token platforms.Secret `mapstructure:"token"`
	// ImageDir is the folder that pictures are put into for the interface to read; by
	// default a folder of its own below the data directory.
	ImageDir string `mapstructure:"image_dir"`
	// ImageMount is the path of that folder as the interface sees it, where it runs
	// in a container or on another machine; by default the same.
	ImageMount string `mapstructure:"image_mount"`
	// Font is the font file of the text cards; by default the one that is shipped.
	Font string `mapstructure:"font"`
	// NoLinks leaves the addresses of links out of the text.
	NoLinks bool `mapstructure:"no_links"`
}

// withDefaults fills in what is empty and makes paths absolute.
func (c Config) withDefaults(env platforms.Env) (Config, error) {
	c.BaseURL = slices.Clone(c.BaseURL)
	for i, base := range c.BaseURL {
		c.BaseURL[i] = strings.TrimRight(base, "/")
	}
	if len(c.BaseURL) == 0 {
		c.BaseURL = []string{"http://127.0.0.1:18060"}
	}
	if c.ImageDir == "" {
		c.ImageDir = filepath.Join(env.Dir, "images")
	}
	for _, path := range []*string{&c.ImageDir, &c.Font} {
		if *path == "" {
			continue
		}
		if !filepath.IsAbs(*path) {
			*path = filepath.Join(env.Base, *path)
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return c, fmt.Errorf("find the working directory: %w", err)
		}
		*path = absolute
	}
	if c.ImageMount == "" {
		c.ImageMount = c.ImageDir
	}
	return c, nil
}

// Validate returns all faults of the configuration, each with its key. Empty
// fields are no fault: they have defaults.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, base := range c.BaseURL {
		if !isAddress(base) {
			fault("base_url: is no address; write it like http://127.0.0.1:18060")
		} else if host := hostOf(base); c.ImageDir == "" && c.ImageMount == "" && !isHere(host) {
			fault("image_mount: is empty, and %s is another machine: share image_dir with it, and write the path that the folder has there", host)
		}
	}
	if c.ImageMount != "" && !strings.HasPrefix(c.ImageMount, "/") {
		fault("image_mount: %q is no absolute path", c.ImageMount)
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

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// isHere reports whether a host is this machine by its name.
func isHere(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
