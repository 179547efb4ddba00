package weibo

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"herald/article"
	"herald/article/dialect"
	"herald/platforms"
)

const (
	// minWords is what a link must leave of the limit, in characters.
	minWords = 10
)

// options are the front matter's own keys for Weibo.
type options struct {
	// Text replaces title and summary.
	Text string `mapstructure:"text"`
	// Picture false posts without one.
	Picture *bool `mapstructure:"picture"`
}

// danglingMark is the mark of a list's item whose text was cut off.
var danglingMark = regexp.MustCompile(`\s+(\d+\.|•)$`)

// Render makes the text: 【title】 and summary, or the article's beginning, cut to
// the limit where a sentence or a line may end, and then the link.
func (c *Client) Render(a *article.Article) (platforms.Post, error) {
	var o options
	if err := a.DecodeOptions(&o); err != nil {
		return platforms.Post{}, platforms.Rejectf(platform, "render", "front matter of weibo: %v", err)
	}
	p := platforms.Post{
		Slug: a.ID, Title: a.Title, Author: a.Author, Summary: a.Summary, Tags: a.Tags,
		CanonicalURL: a.CanonicalURL, Date: a.Date, ContentType: "text/plain",
	}
	link, err := c.link(a, &p)
	if err != nil {
		return platforms.Post{}, err
	}
	text, err := words(a, o, link, &p)
	if err != nil {
		return platforms.Post{}, err
	}
	limit := c.cfg.MaxLength
	withLink := func(s string) int { return dialect.HalfWidth(s + " " + link) }
	if n := withLink(strings.Repeat("字", minWords)); n > limit {
		return platforms.Post{}, platforms.Rejectf(platform, "render",
			"the link %s leaves no room for a text: with %d characters it would have %d of %d; write a shorter canonical_url", link, minWords, n, limit)
	}
	cut := dialect.Cut(text, limit, withLink)
	if cut != text {
		cut = danglingMark.ReplaceAllString(cut, "…")
	}
	if cut == "" {
		return platforms.Post{}, platforms.Rejectf(platform, "render", "the text cannot be cut to %d characters", limit)
	}
	if o.Text != "" && cut != text {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the text was cut: with its link it has %d of %d characters", withLink(text), limit))
	}
	p.Body = cut + " " + link
	if o.Picture == nil || *o.Picture {
		p.Cover = pictureOf(a)
	}
	return p, nil
}

// words is the text before the link, on one line.
func words(a *article.Article, o options, link string, p *platforms.Post) (string, error) {
	text := strings.TrimSpace(o.Text)
	if text == "" {
		summary := a.Summary
		if summary == "" {
			plain, warnings, err := dialect.PlainText(a, dialect.PlainOptions{NoAddresses: true})
			if err != nil {
				return "", platforms.Rejectf(platform, "render", "%v", err)
			}
			p.Warnings = append(p.Warnings, warnings...)
			summary = plain
		}
		text = "【" + a.Title + "】" + summary
	}
	text = strings.Join(strings.Fields(dialect.Clean(text)), " ")
	// Weibo refuses #topics# of apps; the # of a link could end one.
	if strings.Contains(text, "#") && strings.Count(text+link, "#") > 1 {
		text = strings.ReplaceAll(text, "#", "＃")
		p.Warnings = append(p.Warnings, "# was replaced by ＃: Weibo takes no #topic# from an app")
	}
	return text, nil
}

// link is the address that the post leads to, on the app's domain.
func (c *Client) link(a *article.Article, p *platforms.Post) (string, error) {
	if isOn(a.CanonicalURL, c.cfg.LinkDomain) {
		u, err := url.Parse(a.CanonicalURL)
		if err != nil {
			return "", platforms.Rejectf(platform, "render", "canonical_url is no address")
		}
		u.Fragment = "" // its # could make a #topic#
		return u.String(), nil
	}
	pattern := c.cfg.LinkPattern
	date := a.Date
	if date.IsZero() {
		date = a.PublishAt
	}
	if date.IsZero() && pattern != strings.NewReplacer(":year", "", ":month", "", ":day", "").Replace(pattern) {
		return "", platforms.Rejectf(platform, "render", "link_pattern holds a date, and the article has none: add date or a canonical_url on %s", c.cfg.LinkDomain)
	}
	if !strings.Contains(pattern, ":slug") {
		p.Warnings = append(p.Warnings, fmt.Sprintf(
			"the link leads to %s, not to the article: set canonical_url on %s, or link_pattern in the configuration", pattern, c.cfg.LinkDomain))
	}
	return fill(pattern, a.ID, date), nil
}

func fill(pattern, slug string, date time.Time) string {
	return strings.NewReplacer(
		":slug", url.PathEscape(slug), ":year", date.Format("2006"), ":month", date.Format("01"), ":day", date.Format("02"),
	).Replace(pattern)
}

// pictureOf is the one picture of the post; nil if the article has none.
func pictureOf(a *article.Article) *article.Image {
	if a.Cover != nil || len(a.Images) == 0 {
		return a.Cover
	}
	return &a.Images[0]
}
