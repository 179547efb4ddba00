package git

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"herald/article"
	"herald/platforms"
)

const (
	// maxFile is the largest file that GitHub takes, in bytes. Others take no
	// more either, unless a person has set them up for it.
	maxFile = 100 << 20
	// excerptLength is used where the flavor cannot make an excerpt, in
	// characters.
	excerptLength = 140
)

// Render writes the article's body in the flavor's Markdown. Front matter is
// added when it is published, because an article without a date gets the moment
// of its first publication.
func (c *Client) Render(a *article.Article) (platforms.Post, error) {
	if strings.HasPrefix(a.ID, ".") || strings.HasPrefix(a.ID, "_") || !filepath.IsLocal(a.ID) || path.Base(a.ID) != a.ID {
		return platforms.Post{}, platforms.Rejectf(platform, "render", "id %q cannot be the name of 1 page; set another id", a.ID)
	}
	p := platforms.Post{
		Slug: a.ID, Title: a.Title, Author: a.Author, Summary: a.Summary,
		Tags: a.Tags, CanonicalURL: a.CanonicalURL, Date: a.Date,
		ContentType: "text/markdown", Images: a.Images, Cover: a.Cover,
	}
	if p.Date.IsZero() {
		p.Date = a.PublishAt
	}
	for _, im := range a.Images {
		if im.Size > maxFile {
			return platforms.Post{}, tooLarge(im)
		}
	}
	if a.Cover != nil && a.Cover.Size > maxFile {
		return platforms.Post{}, tooLarge(*a.Cover)
	}
	folder := c.flavor.imageLink(c.cfg, a.ID)
	p.Body = strings.Trim(a.Markdown(func(im article.Image) string { return imageLink(folder, im) }), "\n") + "\n"
	if c.cfg.Flavor == jekyll && p.Summary == "" && hasLiquid(p.Body) {
		p.Summary = a.Excerpt(excerptLength) // Jekyll would cut its own inside of {% raw %}
	}
	p.Body = c.flavor.escape(p.Body)
	if len(p.Body) > maxFile {
		return platforms.Post{}, platforms.Rejectf(platform, "render", "text has %d of at most %d bytes", len(p.Body), maxFile)
	}
	return p, nil
}

func tooLarge(im article.Image) error {
	return platforms.Rejectf(platform, "render", "image %s has %d MB, at most %d go into a repository", im.Ref, im.Size>>20, maxFile>>20)
}

// imageLink is how a page refers to an image: a local one beside the others in
// folder, a remote one where it is.
func imageLink(folder string, im article.Image) string {
	if im.Path == "" {
		return im.URL
	}
	return folder + im.Name
}

// shortcode is one of Hugo's, {{< name >}} or {{% name %}}, or its opening.
var shortcode = regexp.MustCompile(`(?s)\{\{<(.*?)>\}\}|\{\{%(.*?)%\}\}|\{\{[<%]`)

// escapeHugo shows shortcodes as text; those that the author has escaped stay.
// Hugo's own way needs both ends and no comment between; a lone opening, which
// would break the build of the whole site, is parted by a zero-width space.
func escapeHugo(body string) string {
	return shortcode.ReplaceAllStringFunc(body, func(code string) string {
		switch {
		case len(code) > 6 && strings.HasPrefix(code[3:], "/*") && strings.Index(code, "*/") == len(code)-5:
			return code
		case len(code) < 6, strings.Contains(code, "*/"):
			return "{{\u200b" + escapeHugo(code[2:])
		}
		return code[:3] + "/*" + code[3:len(code)-3] + "*/" + code[len(code)-3:]
	})
}

// hasNunjucks reports what Hexo would take for a template.
func hasNunjucks(body string) bool {
	return hasLiquid(body) || strings.Contains(body, "{#")
}

func hasLiquid(body string) bool {
	return strings.Contains(body, "{{") || strings.Contains(body, "{%")
}

var endraw = regexp.MustCompile(`\{(%-?\s*endraw\s*-?%\})`)

// escapeJekyll shows Liquid as text. An {% endraw %} of the text itself is
// written so that it ends nothing.
func escapeJekyll(body string) string {
	if !hasLiquid(body) {
		return body
	}
	body = endraw.ReplaceAllString(body, `{% endraw %}{{ "{" }}$1{% raw %}`)
	return "{% raw %}\n" + body + "{% endraw %}\n"
}
