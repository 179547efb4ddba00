package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"herald/compensate"
	"herald/internal/control"
	"herald/state"
)

// A command here is a person's word on deliveries: it goes to the daemon, which
// alone writes the store.

func (a *app) retryCommand() *cobra.Command {
	var target string
	cmd := &cobra.Command{
		Use: "retry ARTICLE | --target T", Short: "run failed, rejected or held deliveries again", Args: cobra.MaximumNArgs(1),
		Long: "run failed, rejected or held deliveries again: those of an article, those of a target\n" +
			"(oldest first, and its hold is lifted), or one by naming both. What is published is\n" +
			"not touched.",
		ValidArgsFunction: a.completeArticle,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := control.Command{Target: target}
			if len(args) == 1 {
				c.Article = state.ArticleID(args[0])
			}
			if c.Article == "" && c.Target == "" {
				return errors.New("name an article, or a target with --target")
			}
			return a.do(cmd.Context(), "retry", c, nil)
		},
	}
	a.targetFlag(cmd, &target, "only this `TARGET`")
	return cmd
}

func (a *app) resolveCommand() *cobra.Command {
	var url string
	var missing bool
	cmd := &cobra.Command{
		Use: "resolve ARTICLE TARGET --published URL | --missing", Short: "settle an uncertain delivery", Args: cobra.ExactArgs(2),
		Long: "settle a delivery whose outcome herald cannot find out: you have looked, and the post\n" +
			"is there (--published URL), or it is not (--missing: it is sent again).",
		ValidArgsFunction: a.completeArticle,
		RunE: func(cmd *cobra.Command, args []string) error {
			if missing == (url != "") {
				return errors.New("say either --published URL or --missing")
			}
			c := control.Command{Article: state.ArticleID(args[0]), Target: args[1], URL: url, Missing: missing}
			return a.do(cmd.Context(), "resolve", c, nil)
		},
	}
	cmd.Flags().StringVar(&url, "published", "", "the post is there, at `URL`")
	cmd.Flags().BoolVar(&missing, "missing", false, "the post is not there")
	return cmd
}

func (a *app) cancelCommand() *cobra.Command {
	return a.articleCommand("cancel", "give up what is not published yet",
		"give up what is not published yet. A delivery whose outcome is open is canceled once it\nis known; if the post turns out to be there, it is withdrawn.", nil)
}

func (a *app) republishCommand() *cobra.Command {
	return a.articleCommand("republish", "make a new post, on purpose",
		"make a new post of what is published, withdrawn or canceled. The old post stays where it\nis unless you withdraw it first.", nil)
}

func (a *app) approveCommand() *cobra.Command {
	return a.articleCommand("approve", "release an article that is held",
		"release an article that is held as a draft, as a duplicate, for its quality or because it\nis late. With --target it stays held for the others.", nil)
}

func (a *app) withdrawCommand() *cobra.Command {
	var yes bool
	cmd := a.articleCommand("withdraw", "take published posts back",
		"take published posts back where the platform can, and cancel what is not published yet.\nReaders lose the post, its address and its comments.",
		func(ctx context.Context, client *control.Client, c control.Command) error {
			if yes {
				return nil
			}
			return a.confirmWithdrawal(ctx, client, c)
		})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirmWithdrawal names what readers lose and asks.
func (a *app) confirmWithdrawal(ctx context.Context, client *control.Client, c control.Command) error {
	st, err := client.Article(ctx, c.Article)
	if err != nil {
		return err
	}
	r := &st.Articles[0]
	fmt.Fprintf(a.out, "Withdraw %s, %q:\n", r.ID, oneLine(r.Title))
	for _, d := range r.Deliveries {
		if c.Target != "" && c.Target != d.Target {
			continue
		}
		what := "not published; it is canceled"
		switch d.State {
		case state.Published:
			what = strings.TrimSpace("published " + d.URL)
		case state.Sending, state.Uncertain, state.Reviewing, state.Updating:
			what = "its outcome is open; it is withdrawn once that is known"
		case state.Withdrawn, state.Canceled, state.Withdrawing, state.Stuck:
			what = string(d.State)
		}
		fmt.Fprintf(a.out, "  %s: %s\n", d.Target, what)
	}
	fmt.Fprint(a.out, "Readers lose the post, its address and its comments. Go on? [y/N] ")
	line, _ := bufio.NewReader(a.in).ReadString('\n') // no answer is a no
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("nothing was withdrawn; say y, or use --yes")
	}
	return nil
}

// confirm asks before a command is given.
type confirm func(context.Context, *control.Client, control.Command) error

// articleCommand is a command on an article, or on its delivery on one target.
func (a *app) articleCommand(name, short, long string, ask confirm) *cobra.Command {
	var target string
	cmd := &cobra.Command{
		Use: name + " ARTICLE", Short: short, Long: long, Args: cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArticle,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.do(cmd.Context(), name, control.Command{Article: state.ArticleID(args[0]), Target: target}, ask)
		},
	}
	a.targetFlag(cmd, &target, "only this `TARGET`")
	return cmd
}

// do gives the daemon a command and prints what it did.
func (a *app) do(ctx context.Context, name string, c control.Command, ask confirm) error {
	cfg, err := a.settings()
	if err != nil {
		return err
	}
	client := control.NewClient(cfg.Control.Socket)
	if ask != nil {
		err = ask(ctx, client, c)
	}
	var changes []compensate.Change
	if err == nil {
		changes, err = client.Do(ctx, name, c)
	}
	if errors.Is(err, control.ErrNotRunning) {
		return fmt.Errorf("%w; start it with `herald run`, then %s again", err, name)
	}
	if refused, ok := errors.AsType[*control.Error](err); ok && refused.Code == control.CodeNothing && len(refused.Changes) > 0 {
		a.printChanges(refused.Changes)
		return fmt.Errorf("nothing to %s", name)
	}
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		fmt.Fprintf(a.out, "nothing to %s\n", name)
	}
	a.printChanges(changes)
	return nil
}

func (a *app) printChanges(changes []compensate.Change) {
	for _, c := range changes {
		line := fmt.Sprintf("%s → %s: %s", c.Article, c.Target, c.From)
		if c.To != c.From {
			line += " → " + string(c.To)
		}
		if c.Note != "" {
			line += " (" + oneLine(c.Note) + ")"
		}
		fmt.Fprintln(a.out, line)
	}
}
