package article

import (
	"fmt"
	stdhtml "html"
	"strings"

	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/styles"
)

// HTMLOptions say how HTML renders.
type HTMLOptions struct {
	// Image returns the src of an image; nil keeps each reference as written.
	Image func(Image) string
}

// HTML renders the body. Code is coloured by CSS classes, see [HighlightCSS];
// HTML in the body is kept.
func (a *Article) HTML(o HTMLOptions) (string, error) {
	d := parseMarkdown(a.Markdown(o.Image))
	var b strings.Builder
	if err := richMarkdown().Renderer().Render(&b, d.source, d.root); err != nil {
		return "", fmt.Errorf("render HTML: %w", err)
	}
	return b.String(), nil
}

// HighlightCSS returns the style sheet of coloured code in two of chroma's
// styles: light, and dark for readers whose system is dark. Each has a media
// query, since a class that only one of them colours would shine through.
func HighlightCSS(light, dark string) (string, error) {
	var b strings.Builder
	for _, mode := range []struct{ name, style string }{{"light", light}, {"dark", dark}} {
		style, ok := styles.Registry[mode.style]
		if !ok {
			return "", fmt.Errorf("no highlight style %q", mode.style)
		}
		fmt.Fprintf(&b, "@media (prefers-color-scheme: %s) {\n", mode.name)
		if err := chromahtml.New(chromahtml.WithClasses(true)).WriteCSS(&b, style); err != nil {
			return "", fmt.Errorf("write highlight style %q: %w", mode.style, err)
		}
		b.WriteString("}\n")
	}
	return b.String(), nil
}

// Markdown returns the body with each image's destination replaced by what link
// returns and everything else as it is. An Obsidian embed becomes an ordinary
// image. With a nil link the references stay as written.
func (a *Article) Markdown(link func(Image) string) string {
	images := make(map[string]Image, len(a.Images))
	for _, im := range a.Images {
		images[im.Ref] = im
	}
	var b strings.Builder
	done := 0
	for _, r := range parseMarkdown(a.Body).references {
		im, ok := images[r.ref]
		if !ok || r.start < done {
			continue
		}
		dest := im.Ref
		if link != nil {
			dest = link(im)
		}
		if dest == r.ref && r.form != formEmbed {
			continue
		}
		b.WriteString(a.Body[done:r.start])
		b.WriteString(r.rewrite(dest))
		done = r.stop
	}
	b.WriteString(a.Body[done:])
	return b.String()
}

// rewrite returns what takes the reference's place when it is to name dest.
func (r reference) rewrite(dest string) string {
	switch r.form {
	case formLabel:
		return "(" + escapeDestination(dest) + quoteTitle(r.title) + ")"
	case formEmbed:
		return "![" + escapeDescription.Replace(r.alt) + "](" + escapeDestination(dest) + ")"
	case formHTML:
		return `"` + stdhtml.EscapeString(dest) + `"`
	default:
		return escapeDestination(dest)
	}
}

var escapeDescription = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "`", "\\`")

// escapeDestination percent-encodes what would end a destination or mean
// something else in it.
func escapeDestination(dest string) string {
	var b strings.Builder
	for i := range len(dest) {
		if c := dest[i]; c <= ' ' || c == 0x7F || strings.IndexByte("()<>\\\"`|", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// quoteTitle returns a title, its escapes as written, ready to stand behind a
// destination.
func quoteTitle(title string) string {
	title = oneLine(title)
	switch {
	case title == "":
		return ""
	case !strings.Contains(title, `"`):
		return ` "` + title + `"`
	case !strings.Contains(title, `'`):
		return ` '` + title + `'`
	default:
		return " (" + title + ")"
	}
}
