// Package card draws text as pictures, for a platform that takes no post without
// one: a title and paragraphs on as many cards of 1080 by 1440 pixels as they
// need. The same text and font give the same picture.
//
// It writes from left to right in one font, draws neither pictures nor emoji, and
// knows nothing of articles.
package card

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
)

// The measures of a card, in pixels.
const (
	width, height = 1080, 1440
	margin        = 96
	top, bottom   = 132, height - 150 // of the text
	footer        = height - 72       // base line

	titleSize, titleStep = 76, 108
	textSize, textStep   = 44, 74
	paragraph            = 34 // more between two of them
	noteSize             = 30
	ruleWidth            = 120
	ruleHeight           = 10
	emboldened           = 3 // how often a title is drawn, a pixel apart
)

var (
	paper  = image.NewUniform(color.RGBA{0xfb, 0xf8, 0xf2, 0xff})
	ink    = image.NewUniform(color.RGBA{0x2b, 0x2a, 0x28, 0xff})
	faint  = image.NewUniform(color.RGBA{0x9c, 0x95, 0x8a, 0xff})
	accent = image.NewUniform(color.RGBA{0xd6, 0x45, 0x3d, 0xff})
)

// line is one line of text at its place on a page.
type line struct {
	text  string
	y     int // base line
	title bool
}

// Deck is a text laid out on cards.
type Deck struct {
	// Left says that not all of the text had room.
	Left bool
	// Missing are the characters that the font lacks, each once. They are left out.
	Missing string

	font  *Font
	pages [][]line
	ruleY int // of the rule below the title on the first page
}

// Lay lays a title and a text with line breaks out on at most limit cards.
func (f *Font) Lay(title, text string, limit int) (*Deck, error) {
	d := &Deck{font: f}
	large, err := f.face(titleSize)
	if err != nil {
		return nil, err
	}
	small, err := f.face(textSize)
	if err != nil {
		return nil, err
	}
	var page []line
	y := top
	for _, l := range balanced(large, d.known(title)) {
		y += titleStep
		page = append(page, line{l, y - titleStep/3, true})
	}
	if len(page) > 0 {
		d.ruleY = y + 8
		y += 8 + ruleHeight + 2*paragraph
	}
	room := func(step int) bool {
		if y+step <= bottom {
			return true
		}
		d.pages = append(d.pages, page)
		page, y = nil, top
		d.Left = len(d.pages) == limit
		return !d.Left
	}
	for block := range strings.SplitSeq(d.known(text), "\n") {
		if strings.TrimSpace(block) == "" {
			if len(page) > 0 && y > top {
				y += paragraph
			}
			continue
		}
		for _, l := range broken(small, block, measure) {
			if !room(textStep) {
				return d, nil
			}
			y += textStep
			page = append(page, line{l, y - textStep/3, false})
		}
	}
	if len(page) > 0 {
		d.pages = append(d.pages, page)
	}
	return d, nil
}

// known leaves out what the font lacks, and notes it.
func (d *Deck) known(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', d.font.has(r):
			return r
		case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Cf, r):
		case !strings.ContainsRune(d.Missing, r):
			d.Missing += string(r)
		}
		return -1
	}, text)
}

// measure is how wide a line may be.
const measure = width - 2*margin

// balanced breaks a text into no more lines than it needs, of about the same
// width: a single character alone on the last line looks lost.
func balanced(face font.Face, text string) []string {
	lines := broken(face, text, measure)
	for room := measure - titleSize/2; room > measure/2; room -= titleSize / 2 {
		narrower := broken(face, text, room)
		if len(narrower) > len(lines) {
			break
		}
		lines = narrower
	}
	return lines
}

// broken breaks a paragraph into lines at most room wide, where Unicode lets a
// line be broken, and a word that is wider than that anywhere.
func broken(face font.Face, text string, room int) []string {
	text = strings.ReplaceAll(text, "\t", "    ")
	fits := func(s string) bool { return font.MeasureString(face, strings.TrimRight(s, " ")).Ceil() <= room }
	var lines []string
	current := ""
	add := func(piece string) {
		if current != "" && !fits(current+piece) {
			lines = append(lines, strings.TrimRight(current, " "))
			current = ""
		}
		current += piece
	}
	for state := -1; text != ""; {
		var segment string
		segment, text, _, state = uniseg.FirstLineSegmentInString(text, state)
		if fits(segment) {
			add(segment)
			continue
		}
		for _, r := range segment {
			add(string(r))
		}
	}
	if strings.TrimSpace(current) != "" {
		lines = append(lines, strings.TrimRight(current, " "))
	}
	return lines
}

// Len is the number of cards.
func (d *Deck) Len() int { return len(d.pages) }

// Draw returns card i, counted from 0, as PNG.
func (d *Deck) Draw(i int) ([]byte, error) {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(img, img.Rect, paper, image.Point{}, draw.Src)
	draw.Draw(img, image.Rect(0, 0, width, 16), accent, image.Point{}, draw.Src)
	pen, err := d.pens(img)
	if err != nil {
		return nil, err
	}
	for _, l := range d.pages[i] {
		if l.title {
			for dx := range emboldened {
				pen.write(pen.title, ink, margin+dx, l.y, l.text)
			}
			continue
		}
		pen.write(pen.text, ink, margin, l.y, l.text)
	}
	if i == 0 && d.ruleY > 0 {
		draw.Draw(img, image.Rect(margin, d.ruleY, margin+ruleWidth, d.ruleY+ruleHeight), accent, image.Point{}, draw.Src)
	}
	if d.Len() > 1 {
		count := fmt.Sprintf("%d / %d", i+1, d.Len())
		pen.write(pen.note, faint, width-margin-font.MeasureString(pen.note, count).Ceil(), footer, count)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("encode card: %w", err)
	}
	return b.Bytes(), nil
}

// pen writes on one card.
type pen struct {
	img               *image.RGBA
	title, text, note font.Face
}

func (d *Deck) pens(img *image.RGBA) (p pen, err error) {
	p.img = img
	for _, f := range []struct {
		face *font.Face
		size float64
	}{{&p.title, titleSize}, {&p.text, textSize}, {&p.note, noteSize}} {
		if *f.face, err = d.font.face(f.size); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p pen) write(face font.Face, colour image.Image, x, y int, text string) {
	d := font.Drawer{Dst: p.img, Src: colour, Face: face, Dot: fixed.P(x, y)}
	d.DrawString(text)
}

// Pages returns the lines of each card, title included.
func (d *Deck) Pages() [][]string {
	pages := make([][]string, d.Len())
	for i, page := range d.pages {
		for _, l := range page {
			pages[i] = append(pages[i], l.text)
		}
	}
	return pages
}
