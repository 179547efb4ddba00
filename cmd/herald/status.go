package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"herald/compensate"
	"herald/internal/config"
	"herald/internal/control"
	"herald/platforms/builtin"
	"herald/state"
)

// The exit codes of status.
const (
	exitUnderWay  = 2 // something is under way
	exitAttention = 3 // something is partial or needs a person
)

// statusQuery is what status is asked for.
type statusQuery struct {
	article             state.ArticleID // empty: all
	json, watch, failed bool
	limit               int
}

func (a *app) statusCommand() *cobra.Command {
	var q statusQuery
	cmd := &cobra.Command{
		Use: "status [ARTICLE]", Short: "tell what is where", Args: cobra.MaximumNArgs(1),
		Long: "tell what is where: the newest articles with their deliveries, or one article with\n" +
			"its history.\n\nExit code: 1 on an error, else 3 when something is partial or needs a person, else 2\n" +
			"while something is under way, else 0.",
		ValidArgsFunction: a.completeArticle,
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.limit < 1 {
				return fmt.Errorf("--limit %d: give a positive number", q.limit)
			}
			cfg, err := a.settings()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				q.article = state.ArticleID(args[0])
			}
			if q.watch {
				return a.watch(cmd.Context(), cfg, q)
			}
			st, live, err := a.readStatus(cmd.Context(), cfg, q)
			if err != nil {
				return err
			}
			if err := printStatus(newScreen(a.out, cfg.Location, time.Now()), cfg, st, live, q); err != nil {
				return err
			}
			return statusExit(st)
		},
	}
	cmd.Flags().BoolVar(&q.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&q.watch, "watch", false, "print again whenever something changes, until Ctrl-C")
	cmd.Flags().BoolVar(&q.failed, "failed", false, "only what needs a person, however old")
	cmd.Flags().IntVar(&q.limit, "limit", 50, "list the newest `N` articles")
	return cmd
}

// readStatus asks the daemon, or reads the store where none runs; live says that
// it was the daemon.
func (a *app) readStatus(ctx context.Context, cfg *config.Config, q statusQuery) (st control.Status, live bool, err error) {
	c := control.NewClient(cfg.Control.Socket)
	if q.article != "" {
		st, err = c.Article(ctx, q.article)
	} else {
		st, err = c.Status(ctx, q.limit, q.failed)
	}
	live = true
	if errors.Is(err, control.ErrNotRunning) {
		live = false
		st, err = a.readStore(cfg, q)
	}
	if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeNotFound || errors.Is(err, state.ErrNotFound) {
		err = fmt.Errorf("no article has the id %q; `herald status` lists the newest", q.article)
	}
	return st, live, err
}

// readStore reads the status of a herald that does not run.
func (a *app) readStore(cfg *config.Config, q statusQuery) (st control.Status, err error) {
	path := filepath.Join(cfg.DataDir, storeFile)
	store, err := state.OpenReadOnly(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return st, fmt.Errorf("herald is not running, and there is no store %s yet; start it with `herald run`, or name its configuration with --config", path)
	case errors.Is(err, state.ErrLocked):
		return st, fmt.Errorf("%w, but nobody answers on %s; herald is starting or stopping: try again", err, cfg.Control.Socket)
	case err != nil:
		return st, err
	}
	defer store.Close()
	driver := compensate.New(compensate.Options{Store: store, Targets: a.offline(), Log: slog.New(slog.DiscardHandler), Location: cfg.Location})
	if q.article != "" {
		rep, err := driver.Report(q.article, time.Now())
		return control.Status{Articles: []state.Report{rep}}, err
	}
	st.Articles, err = driver.Reports(q.limit, q.failed, time.Now())
	return st, err
}

// printStatus prints for a program or for a person.
func printStatus(s screen, cfg *config.Config, st control.Status, live bool, q statusQuery) error {
	if q.json {
		return printJSON(s.out, st)
	}
	if !live {
		fmt.Fprintln(s.out, s.paint("herald is not running; this is what its store says", yellow))
	}
	switch {
	case q.article != "":
		s.article(&st.Articles[0])
	case len(st.Articles) == 0 && q.failed:
		fmt.Fprintln(s.out, "nothing needs a person")
	case len(st.Articles) == 0:
		fmt.Fprintf(s.out, "no articles yet; drop a .md file in %s\n", cfg.Queue.Dir)
	default:
		s.articles(st.Articles)
	}
	return nil
}

// printJSON prints for a program, readable for people too.
func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// statusExit is the exit code as the command's help says.
func statusExit(st control.Status) error {
	underWay := false
	for i := range st.Articles {
		r := &st.Articles[i]
		switch r.State {
		case state.ArticlePartial, state.ArticleFailed, state.ArticleHeld:
			return exitCode(exitAttention)
		case state.ArticleScheduled, state.ArticleQueued, state.ArticlePublishing:
			underWay = true
		}
		if r.NeedsPerson() {
			return exitCode(exitAttention)
		}
		for _, d := range r.Deliveries { // an article that was a success may be at it again
			underWay = underWay || d.Due != nil
		}
	}
	if underWay {
		return exitCode(exitUnderWay)
	}
	return nil
}

// settings reads the configuration for a command that only talks to the daemon.
// It works for people who may not read the secrets, and with a target that is
// not valid.
func (a *app) settings() (*config.Config, error) {
	return config.Load(a.configFile, nil)
}

// load reads the configuration.
func (a *app) load() (*config.Config, error) {
	return config.Load(a.configFile, builtin.Adapters())
}
