// Command bench measures herald in one run and prints ratios, since machines are
// noisy and absolute figures are not worth much. With -check it fails where a
// ratio is below half of its line; `make bench` and `make bench-check` run it. It
// is no part of herald and tests nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// A line is what is to be reached; the check fails below half of it.
type result struct {
	what   string
	value  string
	ratio  float64 // 0: no line
	of     string  // what the ratio is a ratio of
	line   float64
	atMost bool // the line is an upper bound
}

func (r result) failed() bool {
	switch {
	case r.line == 0:
		return false
	case r.atMost:
		return r.ratio > 1+2*(r.line-1)
	}
	return r.ratio < r.line/2
}

// run is one run of the whole.
type run struct {
	dir     string
	full    bool // also a million articles
	results []result
}

func (r *run) add(x result) {
	r.results = append(r.results, x)
	fmt.Fprintf(os.Stderr, "%s: %s\n", x.what, x.value)
}

func main() {
	check := flag.Bool("check", false, "fail where a ratio is below half of its line")
	full := flag.Bool("full", true, "measure a million finished articles too")
	dir := flag.String("dir", "", "work in this `FOLDER`; default: a temporary one")
	serve := flag.Duration("serve", -1, "be the platform that answers after this time")
	flag.Parse()
	if *serve >= 0 {
		servePlatform(*serve)
		return
	}
	if err := measure(context.Background(), *dir, *full, *check); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, dir string, full, check bool) error {
	if dir == "" {
		// Beside the sources, not in a memory file system: the disk is measured.
		tmp, err := os.MkdirTemp(".", ".bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		if dir, err = filepath.Abs(tmp); err != nil {
			return err
		}
	}
	r := &run{dir: dir, full: full}
	for _, part := range []func(context.Context) error{
		r.disk, r.commits, r.deliveries, r.isolation, r.queue, r.size, r.idle,
	} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return r.report(check)
}

func (r *run) report(check bool) error {
	t := table.NewWriter()
	t.SetOutputMirror(os.Stdout)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"what", "value", "ratio", "of", "line", ""})
	failed := 0
	for _, x := range r.results {
		ratio, line, mark := "", "", ""
		if x.ratio > 0 {
			ratio = fmt.Sprintf("%.3f", x.ratio)
		}
		if x.line > 0 {
			line, mark = fmt.Sprintf("≥ %.2f", x.line), "ok"
			if x.atMost {
				line = fmt.Sprintf("≤ %.2f", x.line)
			}
			if x.failed() {
				failed++
				mark = "FAILED"
			} else if (x.atMost && x.ratio > x.line) || (!x.atMost && x.ratio < x.line) {
				mark = "below the line"
			}
		}
		t.AppendRow(table.Row{x.what, x.value, ratio, x.of, line, mark})
	}
	t.Render()
	if check && failed > 0 {
		return fmt.Errorf("%d ratios are below half of their lines", failed)
	}
	return nil
}

func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }
