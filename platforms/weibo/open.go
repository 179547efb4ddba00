package weibo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/renameio/v2"
)

const (
	// askAgain is when a post that was put off is tried again.
	askAgain = time.Minute
	// openFor is how long a post may keep others waiting: its delivery may have been
	// settled by a person, of which an adapter is not told.
	openFor = time.Hour
)

// openPost is the one post of the account whose outcome is not known: it was
// about to be sent, and neither an answer nor a look-up has told more since. The
// Memo cannot hold it, since it concerns all deliveries of the account; a file
// does, so that it outlives a restart. Should the file be lost, posts are merely
// not kept apart.
type openPost struct {
	file string // empty: memory only

	mu     sync.Mutex
	loaded bool
	post   struct {
		Key string    `json:"key"` // empty: there is none
		At  time.Time `json:"at"`  // when it was sent
	}
}

func newOpenPost(dir string) *openPost {
	if dir == "" {
		return &openPost{}
	}
	return &openPost{file: filepath.Join(dir, "open-post.json")}
}

// blocks returns when to ask again whether the post of key may be sent; zero if it
// may be sent now.
func (o *openPost) blocks(key string, now time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.load()
	if o.post.Key == "" || o.post.Key == key || now.Sub(o.post.At) >= openFor {
		return time.Time{}
	}
	return now.Add(askAgain)
}

// begin writes down that the post of key is about to be sent.
func (o *openPost) begin(key string, now time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.load()
	o.post.Key, o.post.At = key, now
	return o.save()
}

// settle writes down that the outcome of the post of key is known.
func (o *openPost) settle(key string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.load()
	if o.post.Key == "" || o.post.Key != key {
		return nil
	}
	o.post.Key, o.post.At = "", time.Time{}
	return o.save()
}

// isOlder reports whether the post of key was sent before t.
func (o *openPost) isOlder(key string, t time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.load()
	return o.post.Key == key && o.post.At.Before(t)
}

// load reads the file once. What cannot be read holds no post.
func (o *openPost) load() {
	if o.loaded || o.file == "" {
		return
	}
	o.loaded = true
	if data, err := os.ReadFile(o.file); err == nil {
		_ = json.Unmarshal(data, &o.post)
	}
}

func (o *openPost) save() error {
	if o.file == "" {
		return nil
	}
	data, err := json.Marshal(o.post)
	if err != nil {
		return fmt.Errorf("encode open post: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(o.file), 0o750); err != nil {
		return fmt.Errorf("make folder for open post: %w", err)
	}
	if err := renameio.WriteFile(o.file, data, 0o600); err != nil {
		return fmt.Errorf("write open post: %w", err)
	}
	return nil
}
