package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"herald/internal/config"
	"herald/internal/control"
	"herald/state"
)

// watchEvery is how often --watch looks.
const watchEvery = time.Second

// startPatience is how long a herald is waited for that is starting: it has its
// store open and does not answer yet.
const startPatience = 5 * time.Second

// watch prints the status whenever it has changed, until ctx ends. On a terminal
// it keeps one picture true; elsewhere it prints only news. Once something was
// shown, an error is shown too and does not end it: herald may be restarting.
func (a *app) watch(ctx context.Context, cfg *config.Config, q statusQuery) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	var last string
	began := time.Now()
	for {
		s := newScreen(a.out, cfg.Location, time.Now()) // anew: its size may have changed
		st, live, err := a.readStatus(ctx, cfg, q)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, state.ErrLocked) && last == "" && time.Since(began) < startPatience: // asked again
		case err != nil && last == "":
			return err
		case s.terminal() && !q.json:
			last = "shown"
			if err := s.picture(cfg, st, live, err, q); err != nil {
				return err
			}
		default:
			if now := news(st, live, err, s.now); now != last {
				last = now
				if err := a.report(s, cfg, st, live, err, q); err != nil {
					return err
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// report prints a change, or on the error output why nothing can be told.
func (a *app) report(s screen, cfg *config.Config, st control.Status, live bool, err error, q statusQuery) error {
	if err != nil {
		complain(a.err, err)
		return nil
	}
	return printStatus(s, cfg, st, live, q)
}

// news is what a change shows in. A step that is overdue counts as due now, or
// each look would be a change.
func news(st control.Status, live bool, err error, now time.Time) string {
	articles := slices.Clone(st.Articles)
	for i := range articles {
		articles[i].Deliveries = slices.Clone(articles[i].Deliveries)
		for j := range articles[i].Deliveries {
			if due := &articles[i].Deliveries[j].Due; *due != nil {
				seconds := (*due).Truncate(time.Second)
				if !seconds.After(now) {
					seconds = time.Time{}
				}
				*due = &seconds
			}
		}
	}
	raw, _ := json.Marshal(articles) // what came as JSON goes as JSON
	return fmt.Sprint(live, err, string(raw))
}

// picture draws the status over the one before, in one write and without
// clearing first, so that nothing flickers. What does not fit is left out.
func (s screen) picture(cfg *config.Config, st control.Status, live bool, err error, q statusQuery) error {
	var text bytes.Buffer
	terminal := s.out
	s.out = &text
	fmt.Fprintln(&text, s.paint(s.now.In(s.zone).Format("15:04:05")+"  Ctrl-C ends", gray))
	if err != nil {
		s.indented(cell{oneLine(err.Error()), red}, 0)
	} else if err := printStatus(s, cfg, st, live, q); err != nil {
		return err
	}
	_, err = io.WriteString(terminal, frame(text.String(), s.width, s.height))
	return err
}

// The terminal sequences of a frame.
const (
	toTop       = "\x1b[H"
	clearRight  = "\x1b[K"
	clearBeyond = "\x1b[J"
)

// painting matches what paint adds to a line.
var painting = regexp.MustCompile(`\x1b\[[0-9]*m`)

// frame is text that replaces what stands on a terminal. A line that is wider
// than it, such as an address, takes more than one of its rows.
func frame(text string, width, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	rows := func(line string) int {
		wide := columns.StringWidth(painting.ReplaceAllString(line, ""))
		return max(1, (wide+width-1)/width)
	}
	room, shown := height-1, 0 // the cursor has the last row
	for shown < len(lines) && room >= rows(lines[shown]) {
		room -= rows(lines[shown])
		shown++
	}
	if shown < len(lines) {
		for ; room == 0 && shown > 0; shown-- {
			room += rows(lines[shown-1])
		}
		more := fmt.Sprintf("… %d more lines; a taller window, or --limit or --failed, shows them", len(lines)-shown)
		lines = append(lines[:shown], cut(more, width))
	}
	return toTop + strings.Join(lines, clearRight+"\n") + clearRight + "\n" + clearBeyond
}
