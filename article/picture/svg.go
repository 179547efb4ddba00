package picture

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"

	"herald/article/picture/resvg"
)

const (
	// svgZoom makes a drawing sharp on a screen with two pixels for one.
	svgZoom = 2
	// svgSide is the longest side of a drawing, in pixels.
	svgSide = 3000
	// svgTimeout is for a drawing that was made to take long: a large map takes
	// a second.
	svgTimeout = 30 * time.Second
)

// drawSVG turns an SVG into pixels. What would be missing in them is refused: a
// diagram without its words says something else.
func (s *source) drawSVG(fonts [][]byte) (image.Image, error) {
	const fix = "save the picture as PNG"
	c := &svgContent{}
	if err := c.read(s.data); err != nil {
		e := s.fail(RuleDamaged, "is damaged: it cannot be read as SVG", fix)
		e.Err = err
		return nil, e
	}
	switch {
	case c.outside != "":
		return nil, s.fail(RuleUnsupported, fmt.Sprintf("refers to another file (%.80q)", c.outside), fix)
	case c.html:
		return nil, s.fail(RuleUnsupported, "holds HTML (foreignObject), which herald cannot draw", fix)
	}
	o := resvg.Options{Zoom: svgZoom, MaxSide: svgSide}
	if len(c.text) > 0 {
		missing, err := typeset(&o, slices.Concat(fonts, [][]byte{goregular.TTF, gobold.TTF}), c.text)
		if err != nil {
			return nil, &Error{Name: s.name, Rule: RuleUnsupported, What: "holds text that cannot be drawn", Fix: "check the configured font", Err: err}
		}
		if missing != "" {
			return nil, s.fail(RuleUnsupported, fmt.Sprintf("holds text that the fonts cannot show (%s)", missing), "configure a font that has it, or "+fix)
		}
	}
	if err := resvg.Compile(); err != nil {
		return nil, &Error{Name: s.name, Rule: RuleUnsupported, What: "cannot be drawn on this machine", Fix: fix, Err: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), svgTimeout)
	defer cancel()
	img, err := resvg.Draw(ctx, s.data, o)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, s.fail(RuleTooCostly, fmt.Sprintf("is not drawn after %v", svgTimeout), fix)
	case err != nil:
		e := s.fail(RuleDamaged, "cannot be drawn", fix)
		e.Err = err
		return nil, e
	}
	s.width, s.height = img.Rect.Dx(), img.Rect.Dy()
	return img, nil
}

// svgContent is what decides whether an SVG can be drawn faithfully.
type svgContent struct {
	text    map[rune]bool // the characters in it
	outside string        // a reference to another file
	html    bool          // HTML, and nothing in its stead
}

func (c *svgContent) read(data []byte) error {
	c.text = map[rune]bool{}
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var open []string
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			c.element(t, open)
			open = append(open, t.Name.Local)
		case xml.EndElement:
			open = open[:max(0, len(open)-1)]
		case xml.CharData:
			if len(open) > 0 {
				c.characters(t, open[len(open)-1])
			}
		}
	}
}

func (c *svgContent) element(e xml.StartElement, open []string) {
	switch e.Name.Local {
	case "foreignObject":
		// In a switch there is another child for programs without HTML.
		if len(open) == 0 || open[len(open)-1] != "switch" {
			c.html = true
		}
	case "image", "feImage", "use":
		for _, a := range e.Attr {
			if v := strings.TrimSpace(a.Value); a.Name.Local == "href" && v != "" && !strings.HasPrefix(v, "#") && !strings.HasPrefix(v, "data:") {
				c.outside = v
			}
		}
	}
}

func (c *svgContent) characters(text []byte, in string) {
	switch in {
	case "text", "tspan", "textPath", "a":
		for _, r := range string(text) {
			if unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Variation_Selector, r) {
				c.text[r] = true
			}
		}
	}
}

// typeset gives the drawing its fonts, and returns some of the characters that
// none of them has.
func typeset(o *resvg.Options, fonts [][]byte, text map[rune]bool) (missing string, err error) {
	var buf sfnt.Buffer
	lacking := map[rune]bool{}
	for r := range text {
		lacking[r] = true
	}
	for _, data := range fonts {
		faces, err := sfnt.ParseCollection(data)
		if err != nil {
			return "", fmt.Errorf("read font: %w", err)
		}
		face, err := faces.Font(0)
		if err != nil {
			return "", fmt.Errorf("read font: %w", err)
		}
		if o.Family == "" {
			if o.Family, err = face.Name(&buf, sfnt.NameIDFamily); err != nil {
				return "", fmt.Errorf("read font: %w", err)
			}
		}
		for r := range lacking {
			if i, err := face.GlyphIndex(&buf, r); err == nil && i != 0 {
				delete(lacking, r)
			}
		}
	}
	o.Fonts = fonts
	return some(lacking), nil
}

// some returns the first few characters in order.
func some(set map[rune]bool) string {
	runes := slices.Sorted(maps.Keys(set))
	if len(runes) > 10 {
		runes = append(runes[:10], '…')
	}
	return string(runes)
}
