package config

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// quiet is how long a changed file must rest before it is read, since editors
// save in several steps.
const quiet = 200 * time.Millisecond

// Watch reloads when the file's content changes and whenever hup, the channel of
// SIGHUP, says so, and reports each reload, also the one of an invalid file. It
// blocks until ctx ends. If the file cannot be watched, it reports that once and
// goes on with hup alone.
//
// It watches folders, since editors and orchestrators put a new file into place;
// viper's own watcher cannot be stopped and sees no more.
func (r *Reloader) Watch(ctx context.Context, hup <-chan os.Signal, report func(Change, error)) {
	start := r.Config()
	seen := start.sum
	var events chan fsnotify.Event
	var errs chan error
	watcher, relevant, err := watchFile(start.File)
	if err != nil {
		report(Change{Config: start}, fmt.Errorf("watch the configuration: %w; changes are read on SIGHUP only", err))
	} else if watcher != nil {
		defer func() { _ = watcher.Close() }()
		events, errs = watcher.Events, watcher.Errors
	}
	rest := time.NewTimer(quiet) // at first: what changed since the load
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			seen = sum(start.File)
			report(r.Reload())
		case event := <-events:
			if relevant(event.Name) {
				rest.Reset(quiet)
			}
		case <-errs: //nolint:errcheck // whatever it is, events were lost
			rest.Reset(quiet)
		case <-rest.C:
			if now := sum(start.File); now != seen {
				seen = now
				report(r.Reload())
			}
		}
	}
}

// watchFile watches the folder of file and, where file is a link, of what it
// leads to. It returns no watcher without a file.
func watchFile(file string) (w *fsnotify.Watcher, relevant func(name string) bool, err error) {
	if file == "" {
		return nil, nil, nil
	}
	if w, err = fsnotify.NewWatcher(); err != nil {
		return nil, nil, err
	}
	target, err := filepath.EvalSymlinks(file)
	if err != nil {
		target = file
	}
	for _, name := range []string{file, target} {
		if err := w.Add(filepath.Dir(name)); err != nil {
			_ = w.Close()
			return nil, nil, err
		}
	}
	return w, func(name string) bool {
		return name == file || name == target || filepath.Base(name) == "..data" // Kubernetes swaps that link
	}, nil
}

// sum identifies the content of file; one that cannot be read is like an empty
// one.
func sum(file string) [sha256.Size]byte {
	data, _ := os.ReadFile(file)
	return sha256.Sum256(data)
}
