package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"herald/compensate"
	"herald/internal/config"
	"herald/internal/control"
	"herald/scheduler"
	"herald/state"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "write a consistent copy of the store, also while herald runs", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			n, err := writeNew(args[0], func(w io.Writer) (int64, error) {
				n, err := control.NewClient(cfg.Control.Socket).Backup(cmd.Context(), w)
				if !errors.Is(err, control.ErrNotRunning) {
					return n, err
				}
				store, err := state.OpenReadOnly(filepath.Join(cfg.DataDir, storeFile))
				if err != nil {
					return 0, err
				}
				n, err = store.Backup(w)
				return n, errors.Join(err, store.Close())
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "%s: %s\n", args[0], humanize.IBytes(uint64(n)))
			return err
		},
	}
}

// writeNew writes a file that is complete and on disk before it has its name, and
// never replaces one.
func writeNew(path string, write func(io.Writer) (int64, error)) (n int64, err error) {
	f, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, fmt.Errorf("write copy: %w", err)
	}
	defer os.Remove(path + ".part") // gone already when all went well
	if n, err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return n, fmt.Errorf("write copy: %w", err)
	}
	if err := os.Link(path+".part", path); err != nil {
		return n, fmt.Errorf("write copy: %w; choose another name, nothing is overwritten", err)
	}
	return n, nil
}

func (a *app) restoreCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use: "restore [--from FILE]", Short: "bring a lost store back from a backup or from the receipts", Args: cobra.NoArgs,
		Long: "bring a lost or damaged store back while herald is stopped: from a backup (--from), and\n" +
			"then from the receipts that lie beside the stored sources, which know of what was\n" +
			"published since. What the store knows already is left alone.",
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			return a.restore(cfg, from)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "a `FILE` that `herald backup` wrote")
	return cmd
}

func (a *app) restore(cfg *config.Config, from string) error {
	path := filepath.Join(cfg.DataDir, storeFile)
	if from != "" {
		if err := putBack(from, path); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "store put back from %s\n", from)
	}
	if err := os.MkdirAll(cfg.DataDir, 0o750); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	store, err := state.Open(path)
	if errors.Is(err, state.ErrLocked) {
		return fmt.Errorf("%w: stop herald first", err)
	}
	if err != nil {
		return err
	}
	driver := compensate.New(compensate.Options{Store: store, Targets: a.offline(), Log: logger(a.err, cfg.Log)})
	restored, known, faults := 0, 0, 0
	err = scheduler.EachReceipt(cfg.Queue.Dir, func(id string, r scheduler.Receipt, err error) error {
		if err != nil {
			faults++
			fmt.Fprintf(a.err, "herald: %v\n", err)
			return nil
		}
		ok, err := driver.Restore(r.Article, r.Deliveries, time.Now())
		if ok {
			restored++
		} else {
			known++
		}
		return err
	})
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s restored from receipts, %s known already\n", articles(restored), articles(known))
	if faults > 0 {
		return fmt.Errorf("%d receipts could not be read", faults)
	}
	return nil
}

// putBack copies a backup to where the store was. A store that is still there is
// not replaced: only its owner can know that it is not needed.
func putBack(from, path string) error {
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s is there; move it aside first, nothing is overwritten", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for the store: %w", err)
	}
	backup, err := state.OpenReadOnly(from)
	if err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return errors.Join(fmt.Errorf("make data directory: %w", err), backup.Close())
	}
	_, err = writeNew(path, backup.Backup)
	return errors.Join(err, backup.Close())
}
