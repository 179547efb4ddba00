package main

import (
	"github.com/spf13/cobra"

	"herald/internal/control"
)

// completeArticle offers the newest articles to the shell.
func (a *app) completeArticle(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cfg, err := a.settings()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	st, err := control.NewClient(cfg.Control.Socket).Status(cmd.Context(), 50, false)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []cobra.Completion
	for _, r := range st.Articles {
		ids = append(ids, cobra.CompletionWithDesc(string(r.ID), oneLine(r.Title)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeTarget offers the configured targets to the shell.
func (a *app) completeTarget(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cfg, err := a.settings()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return targetNames(cfg), cobra.ShellCompDirectiveNoFileComp
}

// targetFlag gives a command the flag --target.
func (a *app) targetFlag(cmd *cobra.Command, target *string, usage string) {
	cmd.Flags().StringVar(target, "target", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("target", a.completeTarget) // the flag is there
}
