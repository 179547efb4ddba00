package xiaohongshu

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"herald/article"
	"herald/article/dialect"
	"herald/platforms"
	"herald/platforms/xiaohongshu/card"
)

// Limits of a note: of the page, not of the interface, which checks only the title
// and the tags.
const (
	maxTitle   = 20   // units of dialect.Units
	maxContent = 1000 // UTF-16 code units, line breaks and tags included
	maxTags    = 10
	maxImages  = 18
)

// options are the front matter's own keys for Xiaohongshu.
type options struct {
	// Visibility is public (the default), private or friends, or the page's own word.
	// A note that is not public may be in no list: after a lost answer it cannot be
	// found again.
	Visibility string `mapstructure:"visibility"`
	// Original declares the note to be the author's own work.
	Original bool `mapstructure:"original"`
}

// visibilities are the words of the page.
var visibilities = map[string]string{
	"": "", "public": "公开可见", "private": "仅自己可见", "friends": "仅互关好友可见",
	"公开可见": "公开可见", "仅自己可见": "仅自己可见", "仅互关好友可见": "仅互关好友可见",
}

// Keys of Post.Options.
const (
	optionVisibility = "visibility"
	optionOriginal   = "original"
)

// Render makes a note: plain text with line breaks, tags, and the article's
// pictures, the cover first. An article without pictures gets text cards, of which
// Post.Summary is the text: the summary, or all of the text where the note has no
// room for it.
func (c *Client) Render(a *article.Article) (platforms.Post, error) {
	p := platforms.Post{
		Slug: a.ID, Title: strings.TrimSpace(dialect.Clean(a.Title)), Author: a.Author,
		CanonicalURL: a.CanonicalURL, Date: a.Date, ContentType: "text/plain",
	}
	if n := dialect.Units(p.Title); n == 0 || n > maxTitle {
		return platforms.Post{}, platforms.Rejectf(platform, "render",
			"the title has %d of %d units (a Chinese character is one, two letters are one); shorten it, or give the target a title of its own", n, maxTitle)
	}
	var err error
	if p.Options, err = readOptions(a); err != nil {
		return platforms.Post{}, err
	}
	text, warnings, err := dialect.PlainText(a, dialect.PlainOptions{NoAddresses: c.cfg.NoLinks})
	if err != nil {
		return platforms.Post{}, platforms.Rejectf(platform, "render", "%v", err)
	}
	p.Warnings = warnings
	warn := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	var dropped []string
	if p.Tags, dropped = dialect.CleanTags(a.Tags, maxTags); len(dropped) > 0 {
		warn("%d tags were left out, since %d are allowed: %s", len(dropped), maxTags, strings.Join(dropped, ", "))
	}
	text = cmp.Or(text, dialect.Clean(a.Summary), p.Title)
	room := maxContent - tagged(p.Tags)
	if p.Body = dialect.Cut(text, room, dialect.CodeUnits); p.Body != text {
		warn("the text was cut: it has %d characters, and beside the tags there is room for %d", dialect.CodeUnits(text), room)
	}
	if p.Images = picturesOf(a); len(p.Images) > maxImages {
		warn("%d of %d pictures were left out, since %d are allowed", len(p.Images)-maxImages, len(p.Images), maxImages)
		p.Images = p.Images[:maxImages]
	}
	if len(p.Images) > 0 {
		p.Summary = a.Summary
		return p, nil
	}
	p.Summary = cmp.Or(dialect.Clean(a.Summary), text)
	if p.Body != text {
		p.Summary = text
	}
	deck, err := c.deck(p)
	if err != nil {
		return platforms.Post{}, err
	}
	if deck.Left {
		warn("the text has no room on %d cards: the rest of it is left out", maxImages)
	}
	if deck.Missing != "" {
		warn("the cards leave out what their font lacks: %s", deck.Missing)
	}
	return p, nil
}

// tagged is how much of the content tags take: each is typed with a # before it
// and a space behind it.
func tagged(tags []string) int {
	n := 0
	for _, tag := range tags {
		n += dialect.CodeUnits("#" + tag + " ")
	}
	return n
}

// picturesOf are the pictures of a note, the cover first, each once.
func picturesOf(a *article.Article) []article.Image {
	var all []article.Image
	if a.Cover != nil {
		all = append(all, *a.Cover)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(append(all, a.Images...), func(im article.Image) bool {
		id := cmp.Or(im.SHA256, im.URL, im.Ref)
		again := seen[id]
		seen[id] = true
		return again
	})
}

// readOptions checks what the front matter says for this target.
func readOptions(a *article.Article) (map[string]string, error) {
	var o options
	if err := a.DecodeOptions(&o); err != nil {
		return nil, platforms.Rejectf(platform, "render", "front matter of xiaohongshu: %v", err)
	}
	word, ok := visibilities[o.Visibility]
	if !ok {
		return nil, platforms.Rejectf(platform, "render", "front matter of xiaohongshu: visibility %q is none of public, private and friends", o.Visibility)
	}
	checked := map[string]string{}
	if word != "" {
		checked[optionVisibility] = word
	}
	if o.Original {
		checked[optionOriginal] = strconv.FormatBool(true)
	}
	if len(checked) == 0 {
		return nil, nil
	}
	return checked, nil
}

// deck lays the text cards of a post out.
func (c *Client) deck(p platforms.Post) (*card.Deck, error) {
	font, err := c.font()
	if err == nil {
		var deck *card.Deck
		if deck, err = font.Lay(p.Title, p.Summary, maxImages); err == nil {
			return deck, nil
		}
	}
	return nil, &platforms.Error{
		Platform: platform, Op: "render", Kind: platforms.Dependency, Err: err,
		Message: fmt.Sprintf("no text card can be drawn: %v; correct font in the configuration, or give the article a picture", err),
	}
}
