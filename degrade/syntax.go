package degrade

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// links finds addresses that cannot lead where they should, and links that are
// shown as text since something in them is wrong.
func (s *source) links() []Finding {
	var found []Finding
	s.walk(func(n ast.Node) {
		link, ok := n.(*ast.Link)
		if !ok {
			return
		}
		if fault, fix := faultyAddress(string(link.Destination)); fault != "" {
			found = append(found, s.warn(RuleLink, max(0, link.Pos()), fault, fix))
		}
	})
	shownAsText := func(pattern *regexp.Regexp, fault, fix string) {
		for _, m := range pattern.FindAllIndex(s.body, -1) {
			if s.isProse(m[0]) {
				found = append(found, s.warn(RuleLink, m[0], fault, fix))
			}
		}
	}
	shownAsText(wideLink, "a link is written with full-width brackets and shown as text", "write [text](address)")
	shownAsText(spacedLink, "a link has a space in its address and is shown as text", "write %20 for the space")
	for _, m := range labelLink.FindAllSubmatchIndex(s.body, -1) {
		if label := s.body[m[2]:m[3]]; s.isProse(m[0]) && !s.isIndex(m[0]) {
			found = append(found, s.warn(RuleLink, m[0],
				fmt.Sprintf("the link label [%s] is defined nowhere", clean(string(label), 40)), "add [label]: address, or write [text](address)"))
		}
	}
	return found
}

// What was meant as a link and, where it stands as running text, is none.
var (
	wideLink   = regexp.MustCompile(`\]（\s*https?://`)
	spacedLink = regexp.MustCompile(`\]\(\s*https?://[^\s()<>]+[ \t]+[^\s()"'<>][^()"'\n]*\)`)
	labelLink  = regexp.MustCompile(`\]\[([^\[\]\n^]*[^\[\]\n^\d\s][^\[\]\n^]*)\]`)
)

// isIndex reports whether the bracket that ends at an offset stands behind a
// name, as in a[0][i].
func (s *source) isIndex(end int) bool {
	open := bytes.LastIndexByte(s.body[:end], '[')
	return open < 0 || open > 0 && (isWordByte(s.body[open-1]) || s.body[open-1] == ']' || s.body[open-1] == ')')
}

// faultyAddress says what is wrong with the address of a link. Relative ones are
// a matter of the site.
func faultyAddress(address string) (fault, fix string) {
	address = strings.TrimSpace(address)
	lower := strings.ToLower(address)
	shown, _, _ := strings.Cut(clean(address, 60), "?")
	u, err := url.Parse(address)
	switch {
	case address == "":
		return "a link has no address", "add the address, or leave the brackets out"
	case strings.HasPrefix(lower, "javascript:"), strings.HasPrefix(lower, "file:"):
		return fmt.Sprintf("the link %q works for nobody else", shown), "write an https address"
	case strings.HasPrefix(lower, "www."):
		return fmt.Sprintf("the link %q leads into your own site", shown), "write https:// before it"
	case misspelt.MatchString(lower), strings.HasPrefix(lower, "http") && (err != nil || u.Scheme != "" && u.Host == ""):
		return fmt.Sprintf("the link %q is not well-formed", shown), "write it like https://example.com/path"
	case err != nil:
		return "", ""
	case u.User != nil:
		return "a link holds a user name or password", "take it out"
	case isHere(u.Hostname()):
		return fmt.Sprintf("the link %q leads to this machine or network only", shown), "write a public address"
	}
	return "", ""
}

// misspelt matches http:/a, http//a, http;//a, http：//a and https://http://a.
var misspelt = regexp.MustCompile(`^https?(:?/[^/]|//|;|：|:/+https?:)`)

func isHere(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsUnspecified())
}

// headings finds a level that is left out, a level 1 beside the title, and a
// heading without text.
func (s *source) headings() []Finding {
	var found []Finding
	last, told := 0, false
	s.walk(func(n ast.Node) {
		h, ok := n.(*ast.Heading)
		if !ok {
			return
		}
		at := max(0, h.Pos())
		switch {
		case !h.HasChildren():
			found = append(found, s.warn(RuleHeading, at, "a heading has no text", "write it or take the marks out"))
		case h.Level == 1 && !told:
			told = true
			found = append(found, s.warn(RuleHeading, at, "a heading of level 1 stands beside the title", "begin with level 2 (##)"))
		case last > 0 && h.Level > last+1:
			found = append(found, s.warn(RuleHeading, at,
				fmt.Sprintf("a heading of level %d follows one of level %d", h.Level, last), fmt.Sprintf("write level %d", last+1)))
		}
		last = h.Level
	})
	return found
}

// fences finds code blocks that go on to the end, since nothing closes them.
func (s *source) fences() []Finding {
	var found []Finding
	s.walk(func(n ast.Node) {
		code, ok := n.(*ast.FencedCodeBlock)
		if !ok {
			return
		}
		start := max(0, code.Pos())
		end := s.endOfLine(start)
		if lines := code.Lines(); lines.Len() > 0 {
			end = lines.At(lines.Len() - 1).Stop
		}
		last := bytes.TrimLeft(s.body[end:s.endOfLine(end)], "> \t")
		if !bytes.HasPrefix(last, []byte("```")) && !bytes.HasPrefix(last, []byte("~~~")) {
			found = append(found, s.warn(RuleFence, start, "the code block that begins here is never closed", "close it with a line of ``` or ~~~"))
		}
	})
	return found
}

// endOfLine returns the offset behind the line that offset is in.
func (s *source) endOfLine(offset int) int {
	if i := bytes.IndexByte(s.body[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(s.body)
}

// wikiMark matches links and comments of wikis and Obsidian.
var wikiMark = regexp.MustCompile(`\[\[[^\[\]\n]+\]\]|%%[^%\n]+%%`)

// wiki finds syntax that readers would see as it was written. Behind "!" it
// embeds a picture, before "(" it is the text of a link.
func (s *source) wiki() []Finding {
	var found []Finding
	if !bytes.Contains(s.body, []byte("[[")) && !bytes.Contains(s.body, []byte("%%")) {
		return nil
	}
	for _, m := range wikiMark.FindAllIndex(s.body, -1) {
		if !s.isProse(m[0]) || m[0] > 0 && s.body[m[0]-1] == '!' || m[1] < len(s.body) && s.body[m[1]] == '(' {
			continue
		}
		found = append(found, s.warn(RuleWiki, m[0],
			fmt.Sprintf("%s is shown as it stands", clean(string(s.body[m[0]:m[1]]), 40)), "write a Markdown link, or take it out"))
	}
	return found
}
