package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/compensate"
	"herald/internal/control"
)

func (a *app) targetsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "targets", Short: "tell breaker, hold and last success of each target", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.settings()
			if err != nil {
				return err
			}
			reports, err := control.NewClient(cfg.Control.Socket).Targets(cmd.Context())
			if errors.Is(err, control.ErrNotRunning) {
				return fmt.Errorf("%w; breakers live in the daemon: start it with `herald run`", err)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.out, reports)
			}
			newScreen(a.out, cfg.Location, time.Now()).targets(reports)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// targets prints a line a target; on a terminal, what holds it up goes below
// where it does not fit.
func (s screen) targets(reports []compensate.TargetReport) {
	var rows []row
	for i := range reports {
		r := &reports[i]
		breaker, hold, last := green, cell{text: "-"}, "-"
		if r.Breaker != "closed" {
			breaker = red
		}
		if r.Hold != nil {
			hold = cell{string(r.Hold.Kind), yellow}
		}
		if r.LastSuccess != nil {
			last = s.when(*r.LastSuccess)
		}
		kind := r.Type
		if s.narrow() {
			kind = ""
		}
		rows = append(rows, row{
			cells: []cell{{r.Name, bold}, {kind, plain}, {r.Breaker, breaker}, hold, {strconv.Itoa(r.Waiting), plain}, {last, plain}},
			tail:  cell{s.trouble(r), yellow}, fit: moveTail,
		})
	}
	headers := []string{"TARGET", "TYPE", "BREAKER", "HOLD", "WAITING", "LAST SUCCESS"}
	if s.narrow() {
		headers[1] = ""
	}
	s.table(headers, rows)
}

// trouble tells what an open breaker or a hold keeps waiting, since when, why,
// and how it ends; empty for a target that is well.
func (s screen) trouble(r *compensate.TargetReport) string {
	var parts []string
	if r.OpenSince != nil && r.OpenUntil != nil {
		parts = append(parts, fmt.Sprintf("open, holds up %s since %s; tried again %s", articles(r.Waiting), s.when(*r.OpenSince), s.relative(*r.OpenUntil)))
	}
	if h := r.Hold; h != nil {
		why := strings.TrimRight(oneLine(h.Code+" "+h.Message), ".。")
		ends := "goes on " + s.when(h.Until)
		if h.ForPerson {
			ends = fmt.Sprintf("mend it, then `herald retry --target %s`; probed %s", r.Name, s.relative(h.Until))
		}
		parts = append(parts, fmt.Sprintf("held, holds up %s since %s: %s; %s", articles(r.Waiting), s.when(h.Since), why, ends))
	}
	return strings.Join(parts, "; ")
}

func articles(n int) string {
	if n == 1 {
		return "1 article"
	}
	return fmt.Sprintf("%d articles", n)
}
