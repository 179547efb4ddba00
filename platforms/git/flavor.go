package git

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"herald/article"
	"herald/platforms"
)

// The site generators.
const (
	hugo   = "hugo"
	hexo   = "hexo"
	jekyll = "jekyll"
)

// datePrefix is what the name of a Jekyll page begins with.
const datePrefix = "2006-01-02-"

// flavor is what a site generator expects of a repository.
type flavor struct {
	content   string // default folder of the pages
	images    string // default folder of the images; empty: beside the page
	static    string // what comes before an image's path in the repository but not in its address
	permalink string // default address of a page, below the site's
	dated     bool   // the name of a page begins with its date
	rooted    bool   // the generator itself puts the site's path before an image
	escape    func(body string) string
	front     func(pageFacts) any
}

var flavors = map[string]flavor{
	hugo: {
		content: "content/posts", static: "static",
		escape: escapeHugo, front: hugoFront,
	},
	hexo: {
		content: "source/_posts", images: "source/images", static: "source",
		permalink: "/:year/:month/:day/:slug/", rooted: true,
		escape: func(body string) string { return body }, front: hexoFront,
	},
	jekyll: {
		content: "_posts", images: "assets/images", dated: true,
		permalink: "/:year/:month/:day/:slug.html",
		escape:    escapeJekyll, front: jekyllFront,
	},
}

// imageLink is how a page refers to its folder of images. For a site that is not
// at the root of its host, the path of site_url goes before it.
func (f flavor) imageLink(cfg Config, slug string) string {
	if cfg.Images == "" {
		return ""
	}
	folder := strings.TrimPrefix(strings.TrimPrefix(cfg.Images, f.static), "/")
	if f.rooted {
		return path.Join("/", folder, slug) + "/"
	}
	return path.Join("/", sitePath(cfg.SiteURL), folder, slug) + "/"
}

func sitePath(site string) string {
	u, err := url.Parse(site)
	if err != nil {
		return "" // Validate has refused it
	}
	return u.Path
}

// place is where one article lives in the repository.
type place struct {
	slug   string
	page   string // the file
	images string // the folder of its images
}

// newPlace is where an article goes that is not there yet.
func (f flavor) newPlace(cfg Config, slug string, date time.Time) place {
	page := path.Join(cfg.ContentDir, slug+".md")
	switch {
	case f.dated:
		page = path.Join(cfg.ContentDir, date.Format(datePrefix)+slug+".md")
	case cfg.Images == "":
		page = path.Join(cfg.ContentDir, slug, "index.md")
	}
	return f.placed(cfg, slug, page)
}

func (f flavor) placed(cfg Config, slug, page string) place {
	images := path.Join(cfg.Images, slug)
	if cfg.Images == "" {
		images = path.Dir(page)
	}
	return place{slug: slug, page: page, images: images}
}

// placeOf is where the article is whose page a receipt names.
func (f flavor) placeOf(cfg Config, page string) (place, error) {
	slug := strings.TrimSuffix(path.Base(page), ".md")
	if f.dated && len(slug) > len(datePrefix) {
		slug = slug[len(datePrefix):]
	}
	bundle := cfg.Images == "" && slug == "index"
	if bundle {
		slug = path.Base(path.Dir(page))
	}
	inside := filepath.IsLocal(page) && !strings.HasPrefix(page, ".git/")
	if !inside || path.Ext(page) != ".md" || slug == "." || bundle != (cfg.Images == "") {
		return place{}, &platforms.Error{
			Platform: platform, Op: "place", Kind: platforms.Invalid,
			Message: fmt.Sprintf("%q is no page of a site of flavor %s", page, cfg.Flavor),
		}
	}
	return f.placed(cfg, slug, page), nil
}

// paths are what belongs to the article, for git.
func (p place) paths() []string { return []string{p.page, p.images} }

// link is the address of the page for readers; empty without a site_url.
func (p place) link(cfg Config, date time.Time) string {
	if cfg.SiteURL == "" {
		return ""
	}
	slug := p.slug
	if cfg.Flavor == hugo {
		slug = strings.ToLower(slug) // as Hugo does
	}
	return strings.TrimSuffix(cfg.SiteURL, "/") + strings.NewReplacer(
		":year", date.Format("2006"), ":month", date.Format("01"), ":day", date.Format("02"),
		":slug", url.PathEscape(slug),
	).Replace(cfg.Permalink)
}

// pageFacts is what front matter is made of.
type pageFacts struct {
	platforms.Post
	date   time.Time
	cover  string
	layout string
}

// page writes the file: front matter and body.
func (f flavor) page(cfg Config, p platforms.Post, date time.Time) ([]byte, error) {
	facts := pageFacts{Post: p, date: date, layout: cfg.Layout}
	if p.Cover != nil {
		facts.cover = imageLink(f.imageLink(cfg, p.Slug), *p.Cover)
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(f.front(facts)); err != nil {
		return nil, fmt.Errorf("encode front matter: %w", err)
	}
	b.WriteString("---\n\n" + p.Body)
	return b.Bytes(), nil
}

// hugoFront uses Hugo's own keys; others go under params. images is what Hugo's
// built-in templates for previews read.
func hugoFront(p pageFacts) any {
	type params struct {
		Author    string `yaml:"author,omitempty"`
		Canonical string `yaml:"canonicalURL,omitempty"`
		Cover     string `yaml:"cover,omitempty"`
	}
	front := struct {
		Title       string    `yaml:"title"`
		Date        time.Time `yaml:"date"`
		Draft       bool      `yaml:"draft"`
		Slug        string    `yaml:"slug"`
		Layout      string    `yaml:"layout,omitempty"`
		Description string    `yaml:"description,omitempty"`
		Summary     string    `yaml:"summary,omitempty"`
		Tags        []string  `yaml:"tags,omitempty"`
		Images      []string  `yaml:"images,omitempty"`
		Params      params    `yaml:"params,omitempty"`
	}{
		Title: p.Title, Date: p.date, Slug: p.Slug, Layout: p.layout,
		Description: p.Summary, Summary: p.Summary, Tags: p.Tags,
		Params: params{p.Author, p.CanonicalURL, p.cover},
	}
	if p.cover != "" {
		front.Images = []string{p.cover}
	}
	return front
}

// hexoFront gives the date as text: as YAML's own type Hexo would shift it by
// the zone of the machine that builds.
func hexoFront(p pageFacts) any {
	return struct {
		Title       string   `yaml:"title"`
		Date        string   `yaml:"date"`
		Layout      string   `yaml:"layout,omitempty"`
		Author      string   `yaml:"author,omitempty"`
		Description string   `yaml:"description,omitempty"`
		Excerpt     string   `yaml:"excerpt,omitempty"`
		Tags        []string `yaml:"tags,omitempty"`
		Canonical   string   `yaml:"canonical_url,omitempty"`
		Cover       string   `yaml:"cover,omitempty"`
		NoNunjucks  bool     `yaml:"disableNunjucks,omitempty"`
	}{
		p.Title, p.date.Format(time.RFC3339), p.layout, p.Author, p.Summary, p.Summary,
		p.Tags, p.CanonicalURL, p.cover, hasNunjucks(p.Body),
	}
}

// jekyllFront uses the keys of Jekyll and of its plugin jekyll-seo-tag.
func jekyllFront(p pageFacts) any {
	return struct {
		Layout      string   `yaml:"layout"`
		Title       string   `yaml:"title"`
		Date        string   `yaml:"date"`
		Slug        string   `yaml:"slug"`
		Author      string   `yaml:"author,omitempty"`
		Description string   `yaml:"description,omitempty"`
		Excerpt     string   `yaml:"excerpt,omitempty"`
		Tags        []string `yaml:"tags,omitempty"`
		Canonical   string   `yaml:"canonical_url,omitempty"`
		Image       string   `yaml:"image,omitempty"`
	}{
		p.layout, p.Title, p.date.Format("2006-01-02 15:04:05 -07:00"), p.Slug, p.Author, p.Summary, p.Summary,
		p.Tags, p.CanonicalURL, p.cover,
	}
}

// files are what is copied beside the page: each local image once, the cover
// among them.
func files(p platforms.Post) []article.Image {
	seen := map[string]bool{}
	var local []article.Image
	add := func(im article.Image) {
		if im.Path != "" && !seen[im.Name] {
			seen[im.Name] = true
			local = append(local, im)
		}
	}
	for _, im := range p.Images {
		add(im)
	}
	if p.Cover != nil {
		add(*p.Cover)
	}
	return local
}
