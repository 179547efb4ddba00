package wechat

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"

	"herald/article"
	"herald/article/dialect"
	"herald/platforms"
)

// Limits of an article. Those that the documentation and the platform itself name
// differently have a first limit, which brings a warning, and a second one.
const (
	adviseTitle   = 32      // characters, by the documentation
	maxTitle      = 64      // characters, as accounts are refused
	maxAuthor     = 16      // characters
	maxDigest     = 120     // characters in the console; the documentation says 128
	autoDigest    = 54      // characters: what the platform itself takes of a body
	maxText       = 20_000  // characters of the body
	maxContent    = 1 << 20 // bytes of the body with its mark-up
	maxSource     = 1 << 10 // bytes of the source's address
	maxPostImages = 20      // of an image post
)

// The two types of article.
const (
	typeNews   = "news"
	typeImages = "newspic"
)

// The keys of an article's own settings, in its front matter and in Post.Options.
const (
	optMode     = "mode"
	optType     = "article_type"
	optDigest   = "digest"
	optComments = "need_open_comment"
	optFans     = "only_fans_can_comment"
)

// Render makes the article's HTML, with the names of local pictures and the
// addresses of remote ones where Publish puts those that WeChat serves. An image
// post (article_type: newspic) has plain text. Formulas and diagrams are drawn
// once and kept in the target's folder.
func (c *Client) Render(a *article.Article) (platforms.Post, error) {
	options, digest, err := c.options(a)
	if err != nil {
		return platforms.Post{}, err
	}
	p := platforms.Post{
		Slug: a.ID, Title: oneLine(a.Title), Author: oneLine(a.Author), Tags: a.Tags, CanonicalURL: a.CanonicalURL, Date: a.Date,
		Images: slices.Clone(a.Images), Cover: c.cover(a), Options: options,
	}
	if p.Author == "" {
		p.Author = oneLine(c.cfg.Author)
	}
	if err := c.heads(&p, a, digest); err != nil {
		return platforms.Post{}, err
	}
	if options[optType] == typeImages {
		err = imagePost(&p, a)
	} else {
		err = c.body(&p, a)
	}
	if err != nil {
		return platforms.Post{}, err
	}
	if n := dialect.Characters(a.Text()); n >= maxText {
		return platforms.Post{}, reject("the text has %d characters, fewer than %d are allowed", n, maxText)
	}
	if n := len(p.Body); n >= maxContent {
		return platforms.Post{}, reject("the text has %d bytes with its mark-up, fewer than %d are allowed", n, maxContent)
	}
	return p, nil
}

func reject(format string, args ...any) error {
	return platforms.Rejectf(platform, "render", format, args...)
}

// oneLine returns s without what the platform would refuse or show as rubbish.
func oneLine(s string) string { return strings.Join(strings.Fields(dialect.Clean(s)), " ") }

// heads checks and cuts what stands above the text.
func (c *Client) heads(p *platforms.Post, a *article.Article, digest string) error {
	switch n := dialect.Characters(p.Title); {
	case p.Title == "":
		return reject("the title is empty; 1 to %d characters are allowed", maxTitle)
	case n > maxTitle:
		return reject("the title has %d characters, %d are allowed; write a shorter one under the target's name", n, maxTitle)
	case n > adviseTitle:
		warn(p, "the title has %d characters: WeChat's documentation allows %d, some accounts refuse more", n, adviseTitle)
	}
	if n := dialect.Characters(p.Author); n > maxAuthor {
		warn(p, "the author has %d characters and is cut to %d", n, maxAuthor)
		p.Author = dialect.Cut(p.Author, maxAuthor, dialect.Characters)
	}
	p.Summary = oneLine(digest)
	if p.Summary == "" {
		p.Summary = oneLine(a.Summary)
	}
	if n := dialect.Characters(p.Summary); n > maxDigest {
		warn(p, "the digest has %d characters and is cut to %d", n, maxDigest)
		p.Summary = dialect.Cut(p.Summary, maxDigest, dialect.Characters)
	}
	if p.Summary == "" {
		p.Summary = oneLine(a.Excerpt(autoDigest))
	}
	if n := len(p.CanonicalURL); n > maxSource {
		return reject("canonical_url has %d bytes, %d are allowed", n, maxSource)
	}
	return nil
}

func warn(p *platforms.Post, format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// cover is the article's cover, or the configured one; nil if there is none.
func (c *Client) cover(a *article.Article) *article.Image {
	switch {
	case a.Cover != nil:
		return a.Cover
	case len(a.Images) > 0:
		return &a.Images[0]
	case c.cfg.Cover != "":
		return &article.Image{Ref: c.cfg.Cover, Path: c.cfg.Cover}
	}
	return nil
}

// body renders an ordinary article.
func (c *Client) body(p *platforms.Post, a *article.Article) error {
	if strings.TrimSpace(a.Text()) == "" && len(a.Images) == 0 {
		return reject("the article has 0 characters of text and no picture: there is nothing to publish")
	}
	if p.Cover == nil {
		return reject("WeChat wants 1 cover: add a picture to the article, name one with cover:, or set the target's cover")
	}
	theme, err := c.theme()
	if err != nil {
		return &platforms.Error{Platform: platform, Op: "render", Kind: platforms.Dependency, Message: err.Error(), Err: err}
	}
	html, err := dialect.WeChat(a, dialect.WeChatOptions{Theme: theme, Image: placeholder, External: c.external(), PlainCode: c.cfg.PlainCode})
	if err != nil {
		return reject("%v", err)
	}
	// A \u in code is no escape, but looks like the ones that WeChat refuses.
	p.ContentType, p.Body = "text/html", strings.ReplaceAll(html.HTML, `\u`, `&#92;u`)
	p.Images = append(p.Images, html.Images...)
	if theme != nil {
		p.Warnings = append(p.Warnings, theme.Warnings()...)
	}
	p.Warnings = append(p.Warnings, html.Warnings...)
	if n := dialect.Characters(p.Body); n >= maxText {
		warn(p, "the text has %d characters with its mark-up: WeChat's documentation allows %d, though more is usually taken", n, maxText)
	}
	return nil
}

// placeholder stands in a rendered body for a picture that is uploaded only when
// the article is published.
func placeholder(im article.Image) string {
	if im.Path == "" {
		return im.URL
	}
	return im.Name
}

// imagePost renders pictures with a text below.
func imagePost(p *platforms.Post, a *article.Article) error {
	if p.Cover != nil && !slices.ContainsFunc(p.Images, func(im article.Image) bool { return mediaKey(im) == mediaKey(*p.Cover) }) {
		p.Images = slices.Insert(p.Images, 0, *p.Cover)
	}
	if n := len(p.Images); n < 1 || n > maxPostImages {
		return reject("an image post has 1 to %d pictures, this one has %d", maxPostImages, n)
	}
	text, warnings, err := dialect.PlainText(a, dialect.PlainOptions{})
	if err != nil {
		return reject("%v", err)
	}
	p.Cover, p.ContentType, p.Body = nil, "text/plain", text
	p.Warnings = append(p.Warnings, warnings...)
	return nil
}

// options reads the article's own settings, strictly, on top of the target's.
func (c *Client) options(a *article.Article) (options map[string]string, digest string, err error) {
	options = map[string]string{
		optMode: c.cfg.Mode, optType: typeNews, optComments: bit(c.cfg.NeedOpenComment), optFans: bit(c.cfg.OnlyFansCanComment),
	}
	for _, key := range slices.Sorted(maps.Keys(a.Options)) {
		value := a.Options[key]
		var ok bool
		switch key {
		case optMode:
			options[key], ok = oneOf(value, modeDraft, modePublish)
		case optType:
			options[key], ok = oneOf(value, typeNews, typeImages)
		case optDigest:
			digest, ok = value.(string)
		case optComments, optFans:
			options[key], ok = toggle(value)
		default:
			return nil, "", unknownOption(key)
		}
		if !ok {
			return nil, "", reject("%s: %v is none of the 2 values that it may have: %s", key, value, takes[key])
		}
	}
	return options, digest, nil
}

// takes says what each of an article's settings may be.
var takes = map[string]string{
	optMode: modeDraft + " or " + modePublish, optType: typeNews + " or " + typeImages, optDigest: "a text",
	optComments: "true or false", optFans: "true or false",
}

func unknownOption(key string) error {
	known := slices.Sorted(maps.Keys(takes))
	nearest := slices.MinFunc(known, func(a, b string) int {
		return levenshtein.ComputeDistance(key, a) - levenshtein.ComputeDistance(key, b)
	})
	if levenshtein.ComputeDistance(key, nearest) <= 1+len(key)/4 {
		return reject("unknown key %q for a WeChat target; did you mean %s?", key, nearest)
	}
	return reject("unknown key %q for a WeChat target; possible are title, author, summary, cover, %s", key, strings.Join(known, ", "))
}

func oneOf(value any, words ...string) (string, bool) {
	s, _ := value.(string)
	return s, slices.Contains(words, s)
}

// toggle reads a switch as people and the platform write it.
func toggle(value any) (string, bool) {
	switch v := value.(type) {
	case bool:
		return bit(v), true
	case int:
		return strconv.Itoa(v), v == 0 || v == 1
	}
	return "", false
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
