package scheduler

import (
	"fmt"
	"path/filepath"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"herald/article"
	"herald/state"
)

// Sources reads admitted articles from the queue folder's store again, keeping
// the last few in memory. It is safe for concurrent use.
type Sources struct {
	dir      string
	location *time.Location
	cache    *lru.Cache[string, *article.Article] // by path: what is stored never changes
}

// cachedSources is how many parsed articles are kept: those of the deliveries
// that many lanes are likely to make at the same time.
const cachedSources = 128

// NewSources makes a reader of the queue folder dir.
func NewSources(dir string, location *time.Location) *Sources {
	cache, err := lru.New[string, *article.Article](cachedSources)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	return &Sources{dir: dir, location: location, cache: cache}
}

// Read returns the article's content of a revision.
func (s *Sources) Read(a state.Article, revision int) (*article.Article, error) {
	if revision < 1 || revision > len(a.Sources) {
		return nil, fmt.Errorf("article %s has no revision %d", a.ID, revision)
	}
	source := a.Sources[revision-1]
	if src, ok := s.cache.Get(source); ok {
		return src, nil
	}
	src, err := loadStored(s.dir, source, article.Options{Location: s.location, ID: string(a.ID)})
	if err != nil {
		return nil, err
	}
	s.cache.Add(source, src)
	return src, nil
}

// loadStored reads a stored source, whose path is relative to the queue folder.
func loadStored(queue, source string, o article.Options) (*article.Article, error) {
	path := filepath.Join(queue, source)
	o.Root, o.Name = filepath.Join(filepath.Dir(path), sharedDir), source
	return article.Load(path, o)
}
