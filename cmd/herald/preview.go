package main

import (
	"fmt"
	"html"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pkg/browser"
	"github.com/spf13/cobra"

	"herald/compensate"
	"herald/platforms"
	"herald/publisher"
	"herald/state"
)

func (a *app) previewCommand() *cobra.Command {
	var target string
	var stdout bool
	cmd := &cobra.Command{
		Use: "preview FILE", Short: "show the post as a platform would get it", Args: cobra.ExactArgs(1),
		Long: "render an article for one target and show exactly what would be sent: in a browser, or\n" +
			"on stdout where that is not a terminal. Nothing is sent.",
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, src, err := a.read(args[0])
			if err != nil {
				return err
			}
			ts, err := targets(cfg, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			t, err := choose(ts, target)
			if err != nil {
				return err
			}
			post, fault := compensate.Render(t, src, state.Delivery{Article: state.ArticleID(src.ID), Target: t.Name, Generation: 1}, 1)
			if fault != nil {
				return fault
			}
			if stdout || !newScreen(a.out, cfg.Location, time.Now()).terminal() {
				_, err := fmt.Fprintln(a.out, post.Body)
				return err
			}
			return a.browse(t, post)
		},
	}
	a.targetFlag(cmd, &target, "for this `TARGET`; default: the first")
	cmd.Flags().BoolVar(&stdout, "stdout", false, "print it instead of opening a browser")
	return cmd
}

func choose(ts []*publisher.Target, name string) (*publisher.Target, error) {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.Name
	}
	i := slices.Index(names, name)
	switch {
	case len(ts) == 0:
		return nil, fmt.Errorf("no target is enabled")
	case name == "":
		i = 0
	case i < 0:
		return nil, fmt.Errorf("no target is called %q; configured are %s", name, strings.Join(names, ", "))
	}
	return ts[i], nil
}

// browse opens the post in a browser. The page stays in the temporary folder,
// since the browser reads it after herald has ended.
func (a *app) browse(t *publisher.Target, post platforms.Post) error {
	dir, err := os.MkdirTemp("", "herald-preview-")
	if err != nil {
		return fmt.Errorf("make preview: %w", err)
	}
	for _, im := range post.Images {
		if im.Path == "" {
			continue
		}
		if err := os.Symlink(im.Path, filepath.Join(dir, im.Name)); err != nil && !os.IsExist(err) {
			return fmt.Errorf("make preview: %w", err)
		}
	}
	body := post.Body
	if !strings.HasPrefix(post.ContentType, "text/html") {
		body = "<pre style=\"white-space:pre-wrap\">" + html.EscapeString(body) + "</pre>"
	}
	page := "<!doctype html><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>" +
		html.EscapeString(post.Title+" – "+t.Name) + "</title><body style=\"max-width:42rem;margin:2rem auto;padding:0 1rem;line-height:1.8\"><h1>" +
		html.EscapeString(post.Title) + "</h1>" + body
	file := filepath.Join(dir, "index.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		return fmt.Errorf("make preview: %w", err)
	}
	fmt.Fprintf(a.out, "%s: %s\n", t.Name, file)
	browser.Stdout, browser.Stderr = a.err, a.err
	if err := browser.OpenFile(file); err != nil {
		return fmt.Errorf("open a browser: %w; open %s yourself, or use --stdout", err, file)
	}
	return nil
}
