package site

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"herald/article"
	"herald/platforms"
)

const indexVersion = 1

// index is what the blog holds: the metadata of all posts. It is committed
// last, so a post is on the blog when the index has it.
type index struct {
	Version int `json:"version"`
	// Theme is the fingerprint of the theme and the configuration that the
	// pages were made with. When it changes, all pages are made anew. It is
	// empty while a change is under way.
	Theme   string    `json:"theme"`
	Updated time.Time `json:"updated"`
	Posts   []entry   `json:"posts"` // newest first
	// Tags is the folder of each tag, by its folded name. A tag keeps its folder
	// for as long as it has posts, so its address does not change.
	Tags map[string]string `json:"tags"`
	// Files are all files that herald wrote, or was about to write when it
	// crashed, sorted.
	Files []string `json:"files"`
}

// entry is one post in the index.
type entry struct {
	Key      string    `json:"key"`
	Revision int       `json:"revision"`
	Slug     string    `json:"slug"`
	Title    string    `json:"title"`
	Author   string    `json:"author,omitempty"`
	Summary  string    `json:"summary,omitempty"`
	Tags     []string  `json:"tags,omitempty"`
	Original string    `json:"canonical_url,omitempty"`
	Cover    string    `json:"cover,omitempty"` // beside the page, or an address
	Date     time.Time `json:"date"`            // the one that readers see
	// Published is when this blog first had the post, Updated when it got its
	// present revision.
	Published time.Time `json:"published"`
	Updated   time.Time `json:"updated"`
	Body      string    `json:"body"`            // hash of the body, which is stored under it
	Files     []string  `json:"files,omitempty"` // in the post's folder

	html string // the body itself, while it is new
}

// newEntry makes the entry of p; before is the one it takes the place of. The
// times of an unchanged revision stay, so that publishing again changes nothing.
func newEntry(p platforms.Post, before entry, now time.Time) entry {
	e := entry{
		Key: p.Key, Revision: p.Revision, Slug: p.Slug,
		Title: clean(p.Title), Author: clean(p.Author), Summary: clean(p.Summary), Tags: cleanTags(p.Tags),
		Original: p.CanonicalURL, Date: p.Date, Published: before.Published, Updated: before.Updated,
		Files: []string{"index.html"}, html: clean(p.Body),
	}
	if before.Published.IsZero() {
		e.Published = now.UTC()
	}
	if before.Key != p.Key || before.Revision != p.Revision {
		e.Updated = now.UTC()
	}
	if e.Date.IsZero() {
		e.Date = e.Published
	}
	for _, im := range localImages(p) {
		e.Files = append(e.Files, im.Name)
	}
	if p.Cover != nil {
		e.Cover = imageSource(*p.Cover)
	}
	sum := sha256.Sum256([]byte(e.html))
	e.Body = hex.EncodeToString(sum[:])
	return e
}

// bodyFile is where the body is stored. Being named by its hash it is never
// changed, so an entry and its body always belong together.
func (e entry) bodyFile() string { return bodyDir + "/" + e.Body + ".html" }

// page is the path of the post's page.
func (e entry) page() string { return "posts/" + e.Slug + "/index.html" }

// paths are all files of the post.
func (e entry) paths() []string {
	paths := []string{e.bodyFile()}
	for _, f := range e.Files {
		paths = append(paths, "posts/"+e.Slug+"/"+f)
	}
	return paths
}

// postFolder is the address of the post's folder below the blog's.
func postFolder(slug string) string { return "posts/" + url.PathEscape(slug) + "/" }

func (x index) encode() ([]byte, error) {
	data, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the blog's index: %w", err)
	}
	return append(data, '\n'), nil
}

// equal reports whether two indexes are stored as the same bytes.
func equal(a, b index) (bool, error) {
	x, err := a.encode()
	if err != nil {
		return false, err
	}
	y, err := b.encode()
	return bytes.Equal(x, y), err
}

func (x index) find(slug string) (entry, bool) {
	i := slices.IndexFunc(x.Posts, func(e entry) bool { return e.Slug == slug })
	if i < 0 {
		return entry{}, false
	}
	return x.Posts[i], true
}

// with returns the index with e in it, in place of the entry of its slug.
func (x index) with(e entry) index {
	x.Posts = slices.DeleteFunc(slices.Clone(x.Posts), func(o entry) bool { return o.Slug == e.Slug })
	x.Posts = append(x.Posts, e)
	slices.SortFunc(x.Posts, func(a, b entry) int {
		return cmp.Or(b.Date.Compare(a.Date), b.Published.Compare(a.Published), strings.Compare(a.Slug, b.Slug))
	})
	if e.Updated.After(x.Updated) {
		x.Updated = e.Updated
	}
	x.Tags = tagFolders(x.Posts, x.Tags)
	return x
}

// without returns the index without the post.
func (x index) without(slug string, now time.Time) index {
	x.Posts = slices.DeleteFunc(slices.Clone(x.Posts), func(o entry) bool { return o.Slug == slug })
	x.Updated = now.UTC()
	x.Tags = tagFolders(x.Posts, x.Tags)
	return x
}

// tagged is one tag with its posts, newest first.
type tagged struct {
	Name, Folder string
	Posts        []entry
}

// tags returns all tags, the one with the most posts first. A tag is spelt as
// its newest post spells it.
func (x index) tags() []tagged {
	var all []tagged
	at := map[string]int{}
	for _, e := range x.Posts {
		for _, name := range e.Tags {
			key := foldTag(name)
			i, ok := at[key]
			if !ok {
				i = len(all)
				at[key] = i
				all = append(all, tagged{Name: name, Folder: x.Tags[key]})
			}
			all[i].Posts = append(all[i].Posts, e)
		}
	}
	slices.SortStableFunc(all, func(a, b tagged) int {
		return cmp.Or(len(b.Posts)-len(a.Posts), strings.Compare(a.Folder, b.Folder))
	})
	return all
}

// tagFolders gives each tag a folder of its own. Tags that had one keep it; of
// others with the same slug ("C", "C++") all but the first get a number.
func tagFolders(posts []entry, before map[string]string) map[string]string {
	folders, taken := map[string]string{}, map[string]bool{}
	var fresh []string
	for _, e := range posts {
		for _, name := range e.Tags {
			key := foldTag(name)
			if folder, ok := before[key]; ok {
				folders[key], taken[folder] = folder, true
			} else {
				fresh = append(fresh, key)
			}
		}
	}
	for _, key := range fresh {
		if _, ok := folders[key]; ok {
			continue
		}
		slug := article.Slug(key)
		folder := slug
		for n := 2; taken[folder]; n++ {
			folder = fmt.Sprintf("%s-%d", slug, n)
		}
		folders[key], taken[folder] = folder, true
	}
	return folders
}

// foldTag is what two spellings of one tag have in common.
func foldTag(name string) string { return strings.ToLower(name) }

// cleanTags drops empty tags, repetitions and the hash sign of social networks.
func cleanTags(tags []string) []string {
	var names []string
	seen := map[string]bool{}
	for _, t := range tags {
		t = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(clean(t)), "#"))
		if t != "" && !seen[foldTag(t)] {
			seen[foldTag(t)] = true
			names = append(names, t)
		}
	}
	return names
}

// clean removes the characters that XML 1.0 forbids, and that are an error in
// HTML too.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r',
			r >= 0x20 && r < 0x7f, r >= 0xa0 && r <= 0xd7ff,
			r >= 0xe000 && r <= 0xfffd, r >= 0x10000 && r <= 0x10ffff:
			return r
		}
		return -1
	}, s)
}
