package git

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"herald/platforms"
)

// Config describes one branch of one repository.
type Config struct {
	// Repo is the address of the repository: https://…, ssh://…, host:path, or
	// the path of a local one. A relative path starts from the folder of the
	// configuration file. It holds no password.
	Repo string `mapstructure:"repo"`
	// Branch that is pushed to, by default "main". In a repository without any
	// branch the first article makes it.
	Branch string `mapstructure:"branch"`
	// Flavor is hugo (the default), hexo or jekyll.
	Flavor string `mapstructure:"flavor"`
	// ContentDir is the folder of the pages; by default content/posts,
	// source/_posts or _posts.
	ContentDir string `mapstructure:"content_dir"`
	// Images is the folder that gets one folder of images for each article; by
	// default source/images for Hexo and assets/images for Jekyll. Without it, as
	// by default for Hugo, page and images share a folder (a leaf bundle).
	Images string `mapstructure:"images"`
	// Layout is the front matter's layout; by default "post" for Jekyll.
	Layout string `mapstructure:"layout"`

	// AuthorName and AuthorEmail sign the commits, by default
	// herald <herald@localhost>.
	AuthorName  string `mapstructure:"author_name"`
	AuthorEmail string `mapstructure:"author_email"`

	// Username, by default "herald", and Token are the credential of an https
	// repository.
	Username string           `mapstructure:"username"`
	Token    platforms.Secret `mapstructure:"token"`
	// SSHCommand replaces ssh, for instance to name a key: "ssh -i /etc/key
	// -oBatchMode=yes".
	SSHCommand string `mapstructure:"ssh_command"`

	// SiteURL is the public address of the site. Without it receipts carry no
	// address, and the site is taken to be at the root of its host.
	SiteURL string `mapstructure:"site_url"`
	// Permalink is the address of a page below SiteURL, with :slug, :year,
	// :month and :day, as it is set up in the generator. The default is the
	// generator's own.
	Permalink string `mapstructure:"permalink"`
}

// withDefaults fills in what is empty and makes a local repository's path
// absolute.
func (c Config) withDefaults(base string) Config {
	c.Flavor = cmp.Or(c.Flavor, hugo)
	f := flavors[c.Flavor]
	if isPath(c.Repo) && !filepath.IsAbs(c.Repo) {
		c.Repo = filepath.Join(base, c.Repo)
	}
	c.Branch = cmp.Or(c.Branch, "main")
	c.ContentDir = path.Clean(cmp.Or(c.ContentDir, f.content))
	c.Images = cmp.Or(c.Images, f.images)
	if c.Images != "" {
		c.Images = path.Clean(c.Images)
	}
	if c.Flavor == jekyll {
		c.Layout = cmp.Or(c.Layout, "post")
	}
	c.AuthorName = cmp.Or(c.AuthorName, "herald")
	c.AuthorEmail = cmp.Or(c.AuthorEmail, "herald@localhost")
	c.Username = cmp.Or(c.Username, "herald")
	if c.Permalink == "" {
		c.Permalink = f.permalink
	}
	if c.Permalink == "" { // Hugo: the section is the folder below content
		c.Permalink = path.Join("/", strings.TrimPrefix(c.ContentDir, "content"), ":slug") + "/"
	}
	return c
}

// Validate returns all faults of the configuration, each with its key. Empty
// fields but repo are no fault: they have defaults.
func (c Config) Validate() error {
	return errors.Join(
		c.checkRepo(), checkBranch(c.Branch), checkFlavor(c.Flavor),
		checkFolder("content_dir", c.ContentDir), checkFolder("images", c.Images),
		checkIdent("author_name", c.AuthorName), checkIdent("author_email", c.AuthorEmail),
		c.checkToken(), checkSite(c.SiteURL), checkPermalink(c.Permalink),
	)
}

func (c Config) checkRepo() error {
	switch {
	case c.Repo == "":
		return errors.New("repo: is empty; write the address or the path of the repository")
	case strings.Contains(c.Repo, "::"), strings.HasPrefix(c.Repo, "-"), strings.ContainsAny(c.Repo, "\n\x00"):
		return errors.New("repo: is no address that herald pushes to; write https://…, ssh://…, host:path or a path")
	case !strings.Contains(c.Repo, "://"):
		return nil
	}
	u, err := url.Parse(c.Repo)
	if err != nil {
		return errors.New("repo: is no valid address") // err would repeat a password
	}
	_, password := u.User.Password()
	switch u.Scheme {
	case "http", "https":
		if u.User != nil {
			return errors.New("repo: holds a user name or password; write them as username and token")
		}
	case "ssh":
		if password {
			return errors.New("repo: holds a password, which ssh does not use; name a key with ssh_command")
		}
	case "file":
	default:
		return fmt.Errorf("repo: scheme %q is not supported; use https, ssh or file", u.Scheme)
	}
	return nil
}

// isPath tells a path from host:path as git does: no colon before a slash.
func isPath(repo string) bool {
	before, _, _ := strings.Cut(repo, "/")
	return !strings.Contains(before, ":")
}

func (c Config) checkToken() error {
	if c.Token != "" && !strings.HasPrefix(c.Repo, "https://") && !strings.HasPrefix(c.Repo, "http://") {
		return errors.New("token: is only used with an https repo")
	}
	return nil
}

// checkBranch keeps to what git check-ref-format allows.
func checkBranch(name string) error {
	bad := strings.HasPrefix(name, "-") || strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/") ||
		strings.HasSuffix(name, ".") || strings.HasSuffix(name, ".lock") || name == "@" ||
		strings.ContainsAny(name, " ~^:?*[\\\x7f")
	for _, part := range []string{"..", "//", "@{", "/."} {
		bad = bad || strings.Contains("/"+name, part) && name != ""
	}
	for _, r := range name {
		bad = bad || r < ' '
	}
	if bad {
		return fmt.Errorf("branch: %q is no name of a branch", name)
	}
	return nil
}

func checkFlavor(name string) error {
	if _, ok := flavors[name]; !ok && name != "" {
		return fmt.Errorf("flavor: %q is not known; use hugo, hexo or jekyll", name)
	}
	return nil
}

func checkFolder(key, name string) error {
	clean := path.Clean(name)
	if name != "" && (!filepath.IsLocal(clean) || clean == "." || strings.HasPrefix(clean+"/", ".git/")) {
		return fmt.Errorf("%s: %q is no folder inside the repository", key, name)
	}
	return nil
}

func checkIdent(key, value string) error {
	if strings.ContainsAny(value, "<>\n") {
		return fmt.Errorf("%s: %q must not hold <, > or a line break", key, value)
	}
	return nil
}

func checkSite(site string) error {
	if site == "" {
		return nil
	}
	u, err := url.Parse(site)
	if err != nil {
		return fmt.Errorf("site_url: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("site_url: %q is no address of a site; write it like https://example.com/blog/", site)
	}
	return nil
}

func checkPermalink(pattern string) error {
	if pattern != "" && (!strings.HasPrefix(pattern, "/") || !strings.Contains(pattern, ":slug")) {
		return fmt.Errorf("permalink: %q must begin with / and hold :slug", pattern)
	}
	return nil
}
