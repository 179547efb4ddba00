package dialect

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
)

// shown says which element of WeChat's HTML shows an element that Markdown or an
// author may write. All other elements are unknown to this package.
var shown = map[string]string{
	"a": "a", "b": "strong", "blockquote": "blockquote", "br": "br", "code": "code", "del": "del", "em": "em",
	"h1": "h1", "h2": "h2", "h3": "h3", "h4": "h4", "h5": "h5", "h6": "h6", "hr": "hr", "i": "em", "img": "img",
	"ins": "u", "p": "p", "pre": "pre", "s": "del", "strike": "del", "strong": "strong", "sub": "sub", "sup": "sup", "u": "u",
	"table": "table", "tbody": "tbody", "td": "td", "tfoot": "tfoot", "th": "th", "thead": "thead", "tr": "tr",

	"article": "section", "aside": "section", "center": "section", "dd": "section", "details": "section", "div": "section",
	"dl": "section", "dt": "section", "figcaption": "section", "figure": "section", "footer": "section", "header": "section",
	"li": "section", "main": "section", "nav": "section", "ol": "section", "section": "section", "summary": "section",
	"ul": "section",

	"abbr": "span", "bdi": "span", "cite": "span", "dfn": "span", "font": "span", "kbd": "span", "mark": "span", "q": "span",
	"rp": "span", "rt": "span", "ruby": "span", "samp": "code", "small": "span", "span": "span", "time": "span", "tt": "code",
	"var": "em",
}

// policy is what of an author's HTML is taken. Addresses pass here whatever they
// are: the steps that follow leave out and report those that cannot be used.
var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	for tag := range shown {
		p.AllowElements(tag)
	}
	p.AllowNoAttrs().OnElements("a", "font", "img", "span")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src", "alt", "width").OnElements("img")
	p.AllowAttrs("checked", "type").OnElements("input")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("colspan", "rowspan").Matching(bluemonday.Integer).OnElements("td", "th")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|center|right)$`)).Globally()
	p.AllowAttrs("class").Globally()
	p.AllowStyles("color", "background", "background-color", "font-size", "font-style", "font-weight", "letter-spacing",
		"line-height", "text-align", "text-decoration", "text-indent", "border", "border-radius", "margin", "margin-top",
		"margin-bottom", "padding", "width", "max-width").Globally()
	return p
})

// refusedTags returns the elements of raw HTML that the policy does not take,
// each once.
func refusedTags(raw []byte) []string {
	var tags []string
	for z := html.NewTokenizer(bytes.NewReader(raw)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return tags
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			tag := strings.ToValidUTF8(string(name), "")
			if _, ok := shown[tag]; !ok && tag != "input" && !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
	}
}
