package picture

import (
	"errors"
	"image/color"
	"strings"
	"testing"

	"golang.org/x/image/font/gofont/gomono"
)

func svg(content string) []byte {
	return []byte(`<?xml version="1.0"?><!-- a drawing --><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 100 50">` + content + `</svg>`)
}

func TestAnSVGIsDrawnAtTwiceItsSize(t *testing.T) {
	p := fit(t, svg(`<rect width="50" height="25" fill="red"/>`), "drawing.svg", wechatBody)
	if p.Name != "drawing.png" || p.Width != 200 || p.Height != 100 || !strings.Contains(strings.Join(p.Notes, "\n"), "from SVG to PNG") {
		t.Errorf("%s: %d x %d, notes %q", p.Name, p.Width, p.Height, p.Notes)
	}
	img := decoded(t, p)
	if got := img.At(50, 25); !near(got, red) {
		t.Errorf("the shape is %v, want red", got)
	}
	if got := img.At(150, 75); !near(got, clear) {
		t.Errorf("the ground is %v, want it transparent", got)
	}
	if img := decoded(t, fit(t, svg(""), "a.svg", xiaohongshu)); !near(img.At(0, 0), color.White) {
		t.Errorf("the ground as JPEG is %v, want white", img.At(0, 0))
	}
}

func TestTextInAnSVGIsDrawnOrRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		fonts   [][]byte
		missing string
	}{
		"Latin":                    {`<text y="40" font-size="50">██</text>`, nil, ""},
		"another font":             {`<text y="40" font-size="50" font-family="Nowhere">██</text>`, nil, ""},
		"a font of the caller's":   {`<text y="40" font-size="50" font-family="Go Mono">██</text>`, [][]byte{gomono.TTF}, ""},
		"in a span":                {`<text y="40"><tspan font-size="50">██</tspan></text>`, nil, ""},
		"the title is not drawn":   {`<title>中文</title><text y="40" font-size="50">██</text>`, nil, ""},
		"Chinese":                  {`<text>abc中文 中</text>`, nil, "(中文)"},
		"Chinese in a span":        {`<text><tspan>中</tspan></text>`, [][]byte{gomono.TTF}, "(中)"},
		"many foreign characters":  {`<text>一二三四五六七八九十百千</text>`, nil, "…)"},
		"what stands for HTML too": {`<switch><foreignObject width="9" height="9"><p>x</p></foreignObject><text y="40" font-size="50">██</text></switch>`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Fit(svg(tt.content), "a.svg", Limit{Types: wechatBody.Types, Fonts: tt.fonts})
			if tt.missing != "" {
				if err == nil || !strings.Contains(err.Error(), tt.missing) || !strings.Contains(err.Error(), "configure a font") {
					t.Errorf("error = %v, want %s", err, tt.missing)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := decoded(t, p).At(20, 60); !near(got, color.Black) {
				t.Errorf("where text should be is %v", got)
			}
		})
	}
}

func TestAnSVGThatWouldLookOtherwiseIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		rule    Rule
		text    string
	}{
		"a picture on the disk":    {`<image xlink:href="file:///etc/passwd"/>`, RuleUnsupported, "another file"},
		"a picture beside it":      {`<image href="a.png"/>`, RuleUnsupported, `"a.png"`},
		"a picture in the network": {`<image href="http://169.254.169.254/"/>`, RuleUnsupported, "another file"},
		"another drawing":          {`<use href="icons.svg#a"/>`, RuleUnsupported, "another file"},
		"HTML":                     {`<foreignObject width="9" height="9"><p>x</p></foreignObject>`, RuleUnsupported, "HTML"},
		"an end too few":           {`<g>`, RuleDamaged, "cannot be"},
		"an entity from outside":   {`<text>&x;</text>`, RuleDamaged, "cannot be drawn"},
	} {
		_, err := Fit(svg(tt.content), "a.svg", wechatBody)
		var e *Error
		if !errors.As(err, &e) || e.Rule != tt.rule || !strings.Contains(err.Error(), tt.text) || !strings.Contains(e.Fix, "as PNG") {
			t.Errorf("%s: error = %v, want %s: %s", name, err, tt.rule, tt.text)
		}
	}
}

func TestAFontThatIsNoneIsNotThePicturesFault(t *testing.T) {
	_, err := Fit(svg(`<text>a</text>`), "a.svg", Limit{Types: wechatBody.Types, Fonts: [][]byte{[]byte("no font")}})
	if err == nil || !strings.Contains(err.Error(), "check the configured font") {
		t.Errorf("error = %v", err)
	}
}

func TestAHugeSVGIsDrawnSmaller(t *testing.T) {
	src := []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="100000" height="50000"><rect width="9" height="9"/></svg>`)
	s, err := read(src, "a.svg")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.drawSVG(nil); err != nil || s.width != svgSide || s.height != svgSide/2 {
		t.Errorf("%d x %d, want %d wide: %v", s.width, s.height, svgSide, err)
	}
}
