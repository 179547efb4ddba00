package xiaohongshu

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/google/renameio/v2"
)

// maxClaims is more notes than any list shows.
const maxClaims = 500

// claims are the notes that belong to a post, by their ids. Two articles may have
// one title, which is all that a list shows: without the claims the note of one
// could be taken for the other's. A file keeps them, because the Memo knows its own
// delivery only.
type claims struct {
	file string // empty: memory only

	mu   sync.Mutex
	keys map[string]string // note id → Post.Key; nil until it is read
}

func newClaims(dir string) *claims {
	if dir == "" {
		return &claims{}
	}
	return &claims{file: filepath.Join(dir, "notes.json")}
}

// isOthers reports whether a note belongs to another post than that of key.
func (c *claims) isOthers(id, key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	owner, ok := c.keys[id]
	return ok && owner != key
}

// add writes down that a note belongs to the post of key.
func (c *claims) add(id, key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	if c.keys[id] == key {
		return nil
	}
	c.keys[id] = key
	if len(c.keys) > maxClaims { // ids begin with their time: the first one is the oldest
		delete(c.keys, slices.Min(slices.Collect(maps.Keys(c.keys))))
	}
	if c.file == "" {
		return nil
	}
	data, err := json.Marshal(c.keys)
	if err != nil {
		return fmt.Errorf("encode claims: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(c.file), 0o750); err != nil {
		return fmt.Errorf("make folder for claims: %w", err)
	}
	if err := renameio.WriteFile(c.file, data, 0o600); err != nil {
		return fmt.Errorf("write claims: %w", err)
	}
	return nil
}

// read reads the file once. What cannot be read claims nothing.
func (c *claims) read() {
	if c.keys != nil {
		return
	}
	if data, err := os.ReadFile(c.file); err == nil {
		_ = json.Unmarshal(data, &c.keys)
	}
	if c.keys == nil {
		c.keys = map[string]string{}
	}
}
