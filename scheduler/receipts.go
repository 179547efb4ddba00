package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/renameio/v2"

	"herald/state"
)

// receiptFile is what is known of an article, beside its stored sources: a store
// that is lost can be made again from it, and nothing is published twice.
const receiptFile = "receipt.json"

// Receipt is one article's record as it is kept beside its sources.
type Receipt struct {
	Article    state.Article    `json:"article"`
	Deliveries []state.Delivery `json:"deliveries"`
}

// Receipts keeps the receipts of a queue folder. Writing one is nothing that a
// delivery waits for: it happens behind, once for all moves in between, and what
// failed is written again with the next move or the next sweep.
type Receipts struct {
	dir    string
	record func(state.ArticleID) (state.Article, []state.Delivery, error)
	log    *slog.Logger

	mu      sync.Mutex
	pending map[state.ArticleID]bool
	wake    chan struct{}
}

// NewReceipts makes a keeper that reads records with record; it stands still
// until Run.
func NewReceipts(dir string, record func(state.ArticleID) (state.Article, []state.Delivery, error), log *slog.Logger) *Receipts {
	return &Receipts{dir: dir, record: record, log: log, pending: map[state.ArticleID]bool{}, wake: make(chan struct{}, 1)}
}

// Keep has the article's receipt written soon.
func (k *Receipts) Keep(id state.ArticleID) {
	k.mu.Lock()
	k.pending[id] = true
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Run writes receipts until ctx ends, and then those that are left.
func (k *Receipts) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			k.write()
			return
		case <-k.wake:
			k.write()
		}
	}
}

func (k *Receipts) write() {
	k.mu.Lock()
	ids := k.pending
	k.pending = map[state.ArticleID]bool{}
	k.mu.Unlock()
	for id := range ids {
		if err := k.writeOne(id); err != nil {
			k.log.Error("receipt cannot be written; the store alone knows of the article", "article", id, "error", err)
		}
	}
}

func (k *Receipts) writeOne(id state.ArticleID) error {
	a, ds, err := k.record(id)
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(Receipt{a, ds}, "", " ")
	if err != nil {
		return fmt.Errorf("encode receipt: %w", err)
	}
	folder := filepath.Join(k.dir, doneDir, string(id))
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil // its sources were pruned, and the receipt with them
	}
	path, raw := filepath.Join(folder, receiptFile), append(raw, '\n')
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, raw) {
		return nil // a sweep asks for many that are as they should be
	}
	// Synced and renamed: half a receipt would be as bad as none.
	if err := renameio.WriteFile(path, raw, 0o640); err != nil {
		return fmt.Errorf("write receipt: %w", err)
	}
	return nil
}

// ReadReceipt returns the receipt of an article; false if there is none.
func ReadReceipt(dir, id string) (Receipt, bool, error) {
	var r Receipt
	raw, err := os.ReadFile(filepath.Join(dir, doneDir, id, receiptFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("read receipt: %w", err)
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, false, fmt.Errorf("receipt of %s is damaged: %w; move %s aside", id, err, filepath.Join(doneDir, id, receiptFile))
	}
	if string(r.Article.ID) != id {
		return r, false, fmt.Errorf("receipt of %s is that of %q; move %s aside", id, r.Article.ID, filepath.Join(doneDir, id, receiptFile))
	}
	return r, true, nil
}

// EachReceipt calls fn with every receipt of a queue folder, and with the error
// of each that cannot be read.
func EachReceipt(dir string, fn func(id string, r Receipt, err error) error) error {
	entries, err := os.ReadDir(filepath.Join(dir, doneDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list receipts: %w", err)
	}
	for _, e := range entries {
		r, ok, err := ReadReceipt(dir, e.Name())
		if !ok && err == nil {
			continue
		}
		if err := fn(e.Name(), r, err); err != nil {
			return err
		}
	}
	return nil
}

// Astray returns the articles that have stored sources but no record.
func (q *Queue) Astray(known func(state.ArticleID) (bool, error)) []state.ArticleID {
	entries, err := os.ReadDir(q.path(doneDir))
	if err != nil {
		return nil // the look says so
	}
	var ids []state.ArticleID
	for _, e := range entries {
		id := state.ArticleID(e.Name())
		if !e.IsDir() || ignored(e.Name()) {
			continue
		}
		if ok, err := known(id); err == nil && !ok {
			ids = append(ids, id)
		}
	}
	return ids
}
