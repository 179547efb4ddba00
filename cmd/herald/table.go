package main

import (
	"fmt"
	"strings"
)

// cell is text in a colour.
type cell struct {
	text  string
	color color
}

// row is a line of a table, and what stands below it.
type row struct {
	cells []cell // in columns
	// tail has no column of its own: it takes the room that the columns leave.
	tail cell
	fit  fit
	// below are lines of their own, wrapped.
	below []cell
}

// fit says what becomes of a tail on a terminal that has no room for it.
type fit int

const (
	cutTail  fit = iota // shortened: a title, which is told in full elsewhere
	moveTail            // moved below: an address, which is to be copied
	hangTail            // wrapped behind the columns: an explanation
)

const (
	gap        = 2  // columns between two columns
	indent     = 4  // of the lines below a row
	leastFirst = 12 // columns that the first column keeps
	leastTail  = 24 // columns below which a tail is not cut or wrapped but moved
)

// table prints rows in columns that align for Chinese text too. On a terminal
// nothing is wider than it, but for words that cannot be broken.
func (s screen) table(headers []string, rows []row) {
	if len(headers) > 0 {
		head := row{}
		for _, h := range headers {
			head.cells = append(head.cells, cell{h, gray})
		}
		rows = append([]row{head}, rows...)
	}
	widths := s.fit(rows)
	used := 0
	for _, w := range widths {
		if w > 0 {
			used += w + gap
		}
	}
	for _, r := range rows {
		s.row(r, widths, s.usable()-used)
	}
}

// usable is the width that lines may have; the last column stays free, since
// terminals differ in what they do there. 0: any width.
func (s screen) usable() int { return max(0, s.width-1) }

// fit measures the columns. If they are wider than the terminal, the first one,
// which holds names, gives way.
func (s screen) fit(rows []row) []int {
	var widths []int
	for _, r := range rows {
		for i, c := range r.cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns.StringWidth(c.text))
		}
	}
	if !s.terminal() || len(widths) == 0 {
		return widths
	}
	over := -s.usable() - gap
	for _, w := range widths {
		over += w + gap
	}
	if over > 0 {
		widths[0] = max(min(widths[0], leastFirst), widths[0]-over)
	}
	return widths
}

// row prints one row; room is what the columns leave for its tail.
func (s screen) row(r row, widths []int, room int) {
	var line strings.Builder
	space := 0 // owed before the next cell, so that no line ends in spaces
	put := func(c cell) {
		if c.text != "" {
			line.WriteString(strings.Repeat(" ", space) + s.paint(c.text, c.color))
			space = 0
		}
	}
	for i, c := range r.cells {
		if widths[i] == 0 {
			continue
		}
		if s.terminal() {
			c.text = cut(c.text, widths[i])
		}
		put(c)
		space += widths[i] - columns.StringWidth(c.text) + gap
	}
	fits := columns.StringWidth(r.tail.text) <= room
	below := r.below
	switch {
	case !s.terminal(), r.tail.text == "", fits && (r.fit != cutTail || room >= leastTail):
		put(r.tail)
	case r.fit == moveTail || room < leastTail:
		below = append([]cell{r.tail}, below...)
	case r.fit == hangTail:
		lines := wrap(r.tail.text, room)
		put(cell{lines[0], r.tail.color})
		for _, l := range lines[1:] {
			line.WriteString("\n" + strings.Repeat(" ", s.usable()-room) + s.paint(l, r.tail.color))
		}
	default:
		put(cell{cut(r.tail.text, room), r.tail.color})
	}
	fmt.Fprintln(s.out, line.String())
	for _, c := range below {
		s.indented(c, indent)
	}
}

// indented prints text on lines of its own.
func (s screen) indented(c cell, by int) {
	for _, line := range wrap(c.text, s.usable()-by) {
		fmt.Fprintf(s.out, "%*s%s\n", by, "", s.paint(line, c.color))
	}
}
