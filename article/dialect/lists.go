package dialect

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// bullets mark the items of lists without numbers, by depth.
var bullets = []string{"•", "◦", "▪"}

// lists writes the mark of each item as text at the beginning of the item's first
// paragraph.
func (w *wechat) lists() {
	for _, list := range find(w.root, atom.Ul, atom.Ol) {
		number, err := strconv.Atoi(attr(list, "start"))
		if err != nil {
			number = 1
		}
		for _, item := range children(list) {
			if item.DataAtom != atom.Li {
				continue
			}
			mark(item, markOf(list, number))
			number++
		}
		if digits := len(strconv.Itoa(number - 1)); digits > 1 || isFootnotes(list) {
			addClass(list, "digits-"+strconv.Itoa(min(max(digits, 2), 3)))
		}
	}
}

func isFootnotes(list *html.Node) bool { return hasClass(list.Parent, "footnotes") }

// markOf returns the mark of one item.
func markOf(list *html.Node, number int) string {
	switch {
	case isFootnotes(list):
		return "[" + strconv.Itoa(number) + "]"
	case list.DataAtom == atom.Ol:
		return strconv.Itoa(number) + "."
	}
	depth := 0
	for n := range list.Ancestors() {
		if n.DataAtom == atom.Ul {
			depth++
		}
	}
	return bullets[min(depth, len(bullets)-1)]
}

// mark puts a mark before the text of an item. The box of a task is the mark of
// its own.
func mark(item *html.Node, text string) {
	wrapRuns(item)
	lead := item.FirstChild
	for lead != nil && isBlank(lead) {
		lead = lead.NextSibling
	}
	if lead == nil || lead.DataAtom != atom.P {
		lead = element("p", "")
		prepend(item, lead)
	}
	addClass(lead, "lead")
	if first := lead.FirstChild; first != nil && item.Parent.DataAtom == atom.Ul {
		for _, box := range []string{"☐", "☑"} {
			if rest, ok := strings.CutPrefix(first.Data, box+" "); ok && first.Type == html.TextNode {
				text, first.Data = box, rest
			}
		}
	}
	// The no-break space keeps mark and text apart where the text is copied.
	prepend(lead, element("span", "mark", textNode(text+"\u00a0")))
}
