package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// screen is where a command prints to: what it may use there, and how times are
// told.
type screen struct {
	out    io.Writer
	color  bool
	width  int // in columns; 0: no terminal, nothing is cut or wrapped
	height int // in lines
	zone   *time.Location
	now    time.Time
}

func newScreen(out io.Writer, zone *time.Location, now time.Time) screen {
	s := screen{out: out, zone: zone, now: now}
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if w, h, err := term.GetSize(int(f.Fd())); err == nil {
		s.width, s.height = w, h
	}
	return s
}

// terminal reports whether a person watches.
func (s screen) terminal() bool { return s.width > 0 }

// A narrow terminal has no room for clock times beside relative ones.
func (s screen) narrow() bool { return s.terminal() && s.width < 80 }

// color is an ANSI colour or weight; the empty one changes nothing.
type color string

const (
	plain  color = ""
	bold   color = "1"
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	cyan   color = "36"
	gray   color = "90"
)

// paint colours text on a terminal.
func (s screen) paint(text string, c color) string {
	if !s.color || text == "" || c == plain {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// columns measures text. Chinese characters take two columns; characters of
// ambiguous width, such as “”, take one whatever the locale is, as they do in
// today's terminals.
var columns = &runewidth.Condition{StrictEmojiNeutral: true}

// cut shortens text to a width.
func cut(text string, width int) string { return columns.Truncate(text, width, "…") }

// piece matches what a line break does not tear apart: a command in backquotes,
// a word, or one Chinese character, each with the punctuation behind it.
var piece = regexp.MustCompile(" *(?:`[^`]+`|[\\p{Han}\\p{Hiragana}\\p{Katakana}\\p{Hangul}]" +
	"|[^ `\\p{Han}\\p{Hiragana}\\p{Katakana}\\p{Hangul}]+|`)[,.;:!?)，。；：！？、）》」』】”]*")

// word matches a word with the spaces before it.
var word = regexp.MustCompile(` *[^ ]+`)

// wrap breaks one line of text into lines of at most width columns. A single
// word that is longer, such as an address, stays whole, so that it can be copied.
func wrap(text string, width int) []string {
	if width <= 0 || columns.StringWidth(text) <= width {
		return []string{text}
	}
	var lines []string
	var line strings.Builder
	used := 0
	for _, p := range pieces(text, width) {
		if used > 0 && used+columns.StringWidth(p) > width {
			lines = append(lines, line.String())
			line.Reset()
			used, p = 0, strings.TrimLeft(p, " ")
		}
		line.WriteString(p)
		used += columns.StringWidth(p)
	}
	return append(lines, line.String())
}

// pieces splits text where a line may end. A command that is wider than a line
// is torn apart like other text.
func pieces(text string, width int) []string {
	var all []string
	for _, p := range piece.FindAllString(text, -1) {
		if columns.StringWidth(strings.TrimLeft(p, " ")) > width {
			all = append(all, word.FindAllString(p, -1)...)
		} else {
			all = append(all, p)
		}
	}
	return all
}

// oneLine puts a message on one line, without what would steer the terminal.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}
