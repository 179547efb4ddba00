package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "check or show the configuration"}
	cmd.AddCommand(
		&cobra.Command{
			Use: "validate", Short: "check the configuration and print each target's retry schedule", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.validate() },
		},
		&cobra.Command{
			Use: "show", Short: "print the effective configuration, secrets redacted", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				cfg, err := a.load()
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(a.out, cfg.Redacted())
				return err
			},
		},
	)
	return cmd
}

// noFile stands where the name of the configuration would.
const noFile = "no file: built-in defaults"

// validate checks everything that can be checked without a call.
func (a *app) validate() error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	_, err = targets(cfg, slog.New(slog.DiscardHandler))
	fmt.Fprintf(a.out, "configuration  %s\n", cmp.Or(cfg.File, noFile))
	for _, w := range cfg.Warnings {
		fmt.Fprintf(a.out, "warning        %s\n", w)
	}
	for _, t := range cfg.Targets {
		if !t.Enabled {
			fmt.Fprintf(a.out, "%-14s %s, disabled\n", t.Name, t.Type)
			continue
		}
		fmt.Fprintf(a.out, "%-14s %s, retried after %s\n", t.Name, t.Type, t.Schedule())
		for _, w := range t.Warnings() {
			fmt.Fprintf(a.out, "warning        %s: %s\n", t.Name, w)
		}
	}
	if err != nil {
		return errors.Join(errors.New("the configuration is not valid"), err)
	}
	fmt.Fprintln(a.out, "the configuration is valid")
	return nil
}
