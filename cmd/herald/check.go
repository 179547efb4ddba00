package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"herald/article"
	"herald/degrade"
	"herald/internal/config"
	"herald/publisher"
)

func (a *app) checkCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check FILE", Short: "tell what would be refused, by which platform, before anything is sent", Args: cobra.ExactArgs(1),
		Long: "read an article (a .md file, or a folder with index.md) as the queue would, render it\n" +
			"for every target it goes to, and tell what is wrong. Nothing is sent. Exit code 1 if\n" +
			"anything would be refused.",
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, src, err := a.read(args[0])
			r := checked{File: args[0]}
			if problems, ok := errors.AsType[article.Problems](err); ok {
				for _, p := range problems {
					r.Findings = append(r.Findings, degrade.Finding{Rule: p.Rule, Severity: degrade.Error, Line: p.Line, Message: p.What, Suggestion: p.Fix})
				}
				return a.tellChecked(r, asJSON)
			}
			if err != nil {
				return err
			}
			ts, err := targets(cfg, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			q, err := newQuality(cfg, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			r.examine(src, ts, q)
			return a.tellChecked(r, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// checked is what `herald check` found.
type checked struct {
	File     string            `json:"file"`
	ID       string            `json:"id,omitempty"`
	Title    string            `json:"title,omitempty"`
	OK       bool              `json:"ok"`
	Findings []degrade.Finding `json:"findings"`
	Notes    []string          `json:"notes,omitempty"`
	Posts    []string          `json:"-"` // what would be sent, a line each
}

// examine renders the article for every target that it goes to and lets the rules
// look at it.
func (r *checked) examine(src *article.Article, ts []*publisher.Target, q *quality) {
	r.ID, r.Title, r.Notes = src.ID, src.Title, src.Notes
	wanted, unused := route(src, ts)
	for _, name := range unused {
		r.Findings = append(r.Findings, degrade.Finding{Rule: "target", Severity: degrade.Warning, Target: name, Message: "is not enabled; nothing is sent there"})
	}
	if len(wanted) == 0 {
		r.Findings = append(r.Findings, degrade.Finding{
			Rule: "target", Severity: degrade.Error, Message: "no target would get it", Suggestion: "enable one, or name another under platforms",
		})
	}
	q.targets = wanted
	s, posts := q.subject(src, time.Now())
	r.Findings = append(r.Findings, q.judges.Check(src, s)...)
	for _, rendered := range s.Renderings {
		if post, ok := posts[rendered.Target]; ok {
			r.Posts = append(r.Posts, fmt.Sprintf("%s: %q, %d characters, %d images", rendered.Target, post.Title, utf8.RuneCountInString(post.Body), len(post.Images)))
		}
	}
}

// tellChecked prints what was found and exits 1 if anything would be refused.
func (a *app) tellChecked(r checked, asJSON bool) error {
	r.OK = !slices.ContainsFunc(r.Findings, func(f degrade.Finding) bool { return f.Severity == degrade.Error })
	if asJSON {
		if r.Findings == nil {
			r.Findings = []degrade.Finding{}
		}
		if err := printJSON(a.out, r); err != nil {
			return err
		}
	} else {
		for _, n := range r.Notes {
			fmt.Fprintf(a.out, "note   %s\n", n)
		}
		for _, f := range r.Findings {
			fmt.Fprintf(a.out, "%-6s %s\n", f.Severity, r.line(f))
		}
		for _, post := range r.Posts {
			fmt.Fprintf(a.out, "ok     %s\n", post)
		}
		if r.OK {
			fmt.Fprintf(a.out, "ok     %s: %q would be published\n", r.ID, r.Title)
		}
	}
	if !r.OK {
		return exitCode(1)
	}
	return nil
}

// line says a finding as a compiler does, so that an editor finds the place.
func (r *checked) line(f degrade.Finding) string {
	text := oneLine(f.Message)
	if f.Suggestion != "" {
		text += "; " + oneLine(f.Suggestion)
	}
	switch {
	case f.Target != "":
		return f.Target + ": " + text
	case f.Line > 0:
		return fmt.Sprintf("%s:%d: %s", r.File, f.Line, text)
	}
	return r.File + ": " + text
}

// read loads the configuration and an article that is not in the queue yet. Its
// shared images are those beside it, or the queue folder's.
func (a *app) read(path string) (*config.Config, *article.Article, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, fmt.Errorf("find article: %w", err)
	}
	root := filepath.Dir(abs)
	if rel, err := filepath.Rel(cfg.Queue.Dir, abs); err == nil && filepath.IsLocal(rel) {
		root = cfg.Queue.Dir
	}
	src, err := article.Load(abs, article.Options{Location: cfg.Location, Root: root, Name: path, Targets: targetNames(cfg)})
	return cfg, src, err
}

// route returns the targets that an article goes to, and the names of those that
// it asks for but that are not enabled.
func route(src *article.Article, ts []*publisher.Target) (wanted []*publisher.Target, unused []string) {
	if src.Platforms == nil {
		return ts, nil
	}
	for _, name := range src.Platforms {
		i := slices.IndexFunc(ts, func(t *publisher.Target) bool { return t.Name == name })
		if i < 0 {
			unused = append(unused, name)
			continue
		}
		wanted = append(wanted, ts[i])
	}
	return wanted, unused
}
