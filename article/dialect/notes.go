package dialect

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// footnotes writes the number of each footnote as text, without the way there and
// back, which WeChat's readers do not have. It returns how many there are.
func (w *wechat) footnotes() int {
	for _, a := range find(w.root, atom.A) {
		switch {
		case hasClass(a, "footnote-ref"):
			replace(a, textNode("["+textOf(a)+"]"))
		case hasClass(a, "footnote-backref"):
			if before := a.PrevSibling; before != nil && before.Type == html.TextNode {
				before.Data = strings.TrimRight(before.Data, "\u00a0 ")
			}
			replace(a)
		}
	}
	count := 0
	for _, list := range find(w.root, atom.Ol) {
		for item := range list.ChildNodes() {
			if item.DataAtom == atom.Li && isFootnotes(list) {
				count++
			}
		}
	}
	return count
}

// weChatHost is the only host whose articles a WeChat article may link to.
const weChatHost = "mp.weixin.qq.com"

// note is one entry of the list of links.
type note struct{ text, address string }

// links keeps links to other WeChat articles and makes notes of all others, with
// numbers behind those of the footnotes.
func (w *wechat) links(footnotes int) {
	var notes []note
	for _, a := range find(w.root, atom.A) {
		n := note{text: words(textOf(a)), address: w.address(attr(a, "href"))}
		u, err := url.Parse(n.address)
		switch {
		case n.address == "" || err != nil:
			unwrap(a)
			continue
		case u.Host == weChatHost:
			if u.Query().Has("tempkey") {
				w.warn("link %s is a temporary one, which WeChat refuses", n.address)
			}
			setAttr(a, "href", n.address)
			continue
		}
		if !saysAddress(n.text, n.address) {
			at := slices.IndexFunc(notes, func(other note) bool { return other.address == n.address })
			if at < 0 {
				at = len(notes)
				notes = append(notes, n)
			}
			insertAfter(a, element("sup", "", textNode("["+strconv.Itoa(footnotes+at+1)+"]")))
		}
		unwrap(a)
	}
	if len(notes) == 0 {
		return
	}
	list := element("section", "links", element("p", "links-title", textNode("引用链接")))
	for i, n := range notes {
		text := "[" + strconv.Itoa(footnotes+i+1) + "] "
		if n.text != "" {
			text += n.text + ": "
		}
		list.AppendChild(element("p", "link", textNode(text), element("span", "address", textNode(readable(n.address)))))
	}
	w.root.AppendChild(list)
}

// address returns where a link leads outside this article; empty, with a warning,
// if nobody can say.
func (p *page) address(href string) string {
	href = strings.TrimSpace(Clean(href))
	if href == "" || strings.HasPrefix(href, "#") {
		return ""
	}
	u, err := url.Parse(href)
	if err != nil {
		p.warn("link %s is left out: it is no address", href)
		return ""
	}
	base, err := url.Parse(p.canonical)
	if err == nil && u.Scheme == "" && base.IsAbs() {
		u = base.ResolveReference(u)
	}
	switch u.Scheme {
	case "http", "https", "mailto", "tel":
		if u.Scheme == "mailto" || u.Scheme == "tel" || u.Host != "" {
			return u.String()
		}
	case "":
		p.warn("link %s is left out: without a canonical_url nothing says where it leads", href)
		return ""
	}
	p.warn("link %s is left out: it is no address of the web", href)
	return ""
}

// readable returns an address as people read it.
func readable(address string) string {
	return strings.TrimPrefix(strings.TrimPrefix(address, "mailto:"), "tel:")
}

// saysAddress reports whether the text of a link already is its address.
func saysAddress(text, address string) bool {
	plain, err := url.PathUnescape(address)
	if err != nil {
		plain = address
	}
	for _, form := range []string{address, plain} {
		for _, scheme := range []string{"", "https://", "http://", "mailto:", "tel:"} {
			if rest, ok := strings.CutPrefix(form, scheme); ok && strings.TrimSuffix(rest, "/") == strings.TrimSuffix(text, "/") {
				return true
			}
		}
	}
	return false
}
