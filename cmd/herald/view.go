package main

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"herald/state"
)

// articles prints the list: a line an article, below it a line a delivery, and
// below each whatever needs more room than a line.
func (s screen) articles(reports []state.Report) {
	var rows []row
	for i := range reports {
		r := &reports[i]
		rows = append(rows, row{
			cells: []cell{{string(r.ID), bold}, {string(r.State), articleColor(r.State)}, {}, {s.accepted(r), plain}},
			tail:  cell{oneLine(r.Title), plain},
			below: remarks(r),
		})
		for j := range r.Deliveries {
			rows = append(rows, s.delivery(r, &r.Deliveries[j]))
		}
	}
	s.table([]string{"ARTICLE / TARGET", "STATE", "TRIES", "WHEN"}, rows)
}

// delivery is a delivery's row in the list.
func (s screen) delivery(r *state.Report, d *state.DeliveryReport) row {
	tries := ""
	if d.Attempts > 0 {
		tries = strconv.Itoa(d.Attempts)
	}
	line := row{
		cells: []cell{{"  " + d.Target, plain}, {string(d.State), deliveryColor(d)}, {tries, plain}, {s.whenOf(d), plain}},
		tail:  address(d), fit: moveTail,
	}
	if d.Error != nil {
		line.below = append(line.below, cell{errorText(d.Error), deliveryColor(d)})
	}
	if d.Hint != "" && r.State != state.ArticleHeld { // which says it once, for all
		line.below = append(line.below, cell{oneLine(d.Hint), plain})
	}
	return line
}

// address is where readers find a post.
func address(d *state.DeliveryReport) cell {
	if d.State != state.Published {
		return cell{}
	}
	return cell{readable(d.URL), plain}
}

// escaped matches percent-encoded text beyond ASCII.
var escaped = regexp.MustCompile(`(?:%[89A-Fa-f][0-9A-Fa-f])+`)

// readable is an address with its Chinese decoded, as browsers show and take it.
// What is no visible text stays encoded.
func readable(address string) string {
	return oneLine(escaped.ReplaceAllStringFunc(address, func(s string) string {
		text, err := url.PathUnescape(s)
		invisible := func(r rune) bool { return r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsGraphic(r) }
		if err != nil || strings.ContainsFunc(text, invisible) {
			return s
		}
		return text
	}))
}

// remarks are what is special about an article: why it is held, that it is late,
// that its quality check was degraded.
func remarks(r *state.Report) []cell {
	var cells []cell
	if r.Hold != nil {
		why := fmt.Sprintf("held (%s): %s", r.Hold.Reason, r.Hold.Message)
		if r.State == state.ArticleHeld && len(r.Deliveries) > 0 {
			why = cmp.Or(r.Deliveries[0].Hint, why)
		}
		cells = append(cells, cell{oneLine(why), yellow})
	}
	if r.Late != "" {
		cells = append(cells, cell{"late: " + lateText(r.Late), yellow})
	}
	if r.Degraded && r.Quality != nil {
		cells = append(cells, cell{"degraded: quality " + qualityText(r.Quality), yellow})
	}
	return cells
}

// lateText tells how long after its time an article went out.
func lateText(late string) string {
	if d, err := time.ParseDuration(late); err == nil {
		late = cmp.Or(span(d), late)
	}
	return "its first call came " + late + " after publish_at"
}

func (s screen) accepted(r *state.Report) string {
	if r.State == state.ArticleScheduled && r.PublishAt != nil {
		return s.next(*r.PublishAt)
	}
	return "accepted " + s.relative(r.AcceptedAt)
}

// whenOf tells when a delivery was published, or when its next step comes.
func (s screen) whenOf(d *state.DeliveryReport) string {
	switch {
	case d.State == state.Sending: // its due is only when the call counts as lost
		return "now"
	case d.Due != nil:
		return s.next(*d.Due)
	case d.State == state.Published && d.PublishedAt != nil:
		return s.when(*d.PublishedAt)
	case d.NeedsPerson():
		return "waits for you"
	}
	return ""
}

func errorText(e *state.ErrorReport) string {
	return oneLine(strings.TrimSpace(string(e.Kind)+" "+e.Code) + ": " + e.Message)
}

// article prints one article with the history of its deliveries.
func (s screen) article(r *state.Report) {
	s.indented(cell{oneLine(r.Title), bold}, 0)
	var facts []row
	fact := func(name, value string, c color) {
		facts = append(facts, row{cells: []cell{{name, gray}}, tail: cell{value, c}, fit: hangTail})
	}
	fact("id", string(r.ID), plain)
	fact("state", string(r.State), articleColor(r.State))
	fact("revision", strconv.Itoa(r.Revision), plain)
	fact("accepted", s.when(r.AcceptedAt), plain)
	if r.PublishAt != nil {
		fact("publish at", s.when(*r.PublishAt), plain)
	}
	if r.Quality != nil && !r.Degraded {
		fact("quality", qualityText(r.Quality), plain)
	}
	for _, n := range r.Notes {
		fact("note", oneLine(n), plain)
	}
	s.table(nil, facts)
	for _, c := range remarks(r) {
		s.indented(c, 0)
	}
	for i := range r.Deliveries {
		d := &r.Deliveries[i]
		fmt.Fprintln(s.out)
		line := s.delivery(r, d)
		line.cells[0] = cell{d.Target, bold}
		line.cells[2] = cell{tries(d.Attempts), plain}
		s.table(nil, []row{line})
		s.history(d.History)
	}
}

func tries(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

func qualityText(q *state.Quality) string {
	verdict := "passed"
	if !q.Pass {
		verdict = "did not pass"
	}
	if q.Score != nil {
		verdict += fmt.Sprintf(" with %.2f", *q.Score)
	}
	verdict += " (" + q.By + ")"
	if q.Details != "" {
		verdict += ": " + oneLine(q.Details)
	}
	return verdict
}

// history prints what happened to a delivery, oldest first.
func (s screen) history(entries []state.Entry) {
	var rows []row
	for _, e := range entries {
		what := e.Message
		if e.Kind != "" {
			what = errorText(&state.ErrorReport{Kind: e.Kind, Code: e.Code, Message: e.Message})
		}
		took := ""
		if e.Took > 0 {
			took = max(time.Millisecond, e.Took.Round(time.Millisecond)).String()
		}
		rows = append(rows, row{
			cells: []cell{
				{"  " + e.At.In(s.zone).Format("01-02 15:04:05"), gray},
				{e.Op, plain},
				{string(e.Verb), plain},
				{string(e.State), plain},
				{took, plain},
			},
			tail: cell{oneLine(what), plain}, fit: hangTail,
		})
	}
	s.table(nil, rows)
}

// articleColor and deliveryColor say at a glance what needs a look.
func articleColor(st state.ArticleState) color {
	switch st {
	case state.ArticleSuccess:
		return green
	case state.ArticleFailed:
		return red
	case state.ArticlePartial, state.ArticleHeld:
		return yellow
	case state.ArticleWithdrawn, state.ArticleCanceled:
		return gray
	}
	return cyan
}

func deliveryColor(d *state.DeliveryReport) color {
	switch {
	case d.State == state.Withdrawn || d.State == state.Canceled:
		return gray
	case d.State == state.Rejected || d.State == state.Failed || d.State == state.Stuck:
		return red
	case d.Error != nil || d.State == state.Uncertain:
		return yellow
	case d.State == state.Published:
		return green
	}
	return cyan
}
