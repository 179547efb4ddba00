// Command herald publishes Markdown articles that are dropped in a folder to
// many platforms, and tells at any moment what is where. The daemon is `herald
// run`; every other command talks to it, or checks something beforehand.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // so that a time zone is found on a slim image too

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends herald at once
	m := Main{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Stdin: os.Stdin}
	os.Exit(m.Run(ctx))
}

// Main is the program as a value, which tests start on a temporary directory.
type Main struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// exitCode is an error that says nothing but how to exit.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit %d", int(c)) }

// Run runs one command and returns its exit code.
func (m *Main) Run(ctx context.Context) int {
	root := m.command()
	root.SetArgs(m.Args)
	root.SetIn(m.Stdin)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	err := root.ExecuteContext(ctx)
	if code, ok := errors.AsType[exitCode](err); ok {
		return int(code)
	}
	if err != nil {
		complain(m.Stderr, err)
		return 1
	}
	return 0
}

// complain prints an error, each of several on a line of its own.
func complain(w io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(w, "herald: %s\n", strings.TrimSuffix(line, "\n"))
	}
}

// app is what the commands share.
type app struct {
	configFile string
	out, err   io.Writer
	in         io.Reader
}

func (m *Main) command() *cobra.Command {
	a := &app{out: m.Stdout, err: m.Stderr, in: m.Stdin}
	root := &cobra.Command{
		Use:   "herald",
		Short: "publish Markdown articles to many platforms, and know what is where",
		Long: "herald takes Markdown articles from a queue folder and publishes each to every\n" +
			"platform you configured. What fails is tried again, what is uncertain is looked\n" +
			"up, and `herald status` tells what is where.\n\n" +
			"Start with `herald run`, then drop a .md file in the folder it names.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&a.configFile, "config", os.Getenv("HERALD_CONFIG"),
		"configuration `FILE`; without one herald runs on defaults (environment: HERALD_CONFIG)")
	root.AddCommand(
		a.runCommand(), a.statusCommand(), a.retryCommand(), a.resolveCommand(),
		a.cancelCommand(), a.withdrawCommand(), a.approveCommand(), a.republishCommand(),
		a.checkCommand(), a.previewCommand(), a.targetsCommand(), a.doctorCommand(),
		a.configCommand(), a.demoCommand(), a.backupCommand(), a.restoreCommand(), a.versionCommand(),
	)
	return root
}
