package article

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

// For returns the article as one target gets it: a copy with the overrides of
// the common keys applied and the others in Options.
func (a *Article) For(target string) *Article {
	b := *a
	b.Options = map[string]any{}
	for key, value := range a.Overrides[target] {
		if !b.apply(key, value) {
			b.Options[key] = value
		}
	}
	return &b
}

// apply sets what a common key stands for. It reports whether key is one.
func (a *Article) apply(key string, value any) bool {
	switch key {
	case "title":
		set(&a.Title, value)
	case "author":
		set(&a.Author, value)
	case "summary":
		set(&a.Summary, value)
	case "canonical_url":
		set(&a.CanonicalURL, value)
	case "tags":
		set(&a.Tags, value)
	case "cover":
		set(&a.Cover, value)
	default:
		return false
	}
	return true
}

func set[T any](field *T, value any) {
	if v, ok := value.(T); ok {
		*field = v
	}
}

// overridden returns the targets that have overrides, sorted.
func (a *Article) overridden() []string { return slices.Sorted(maps.Keys(a.Overrides)) }

// content is what makes a revision. Where the article lies and where it goes is
// no part of it.
type content struct {
	Title, Author, Summary, CanonicalURL string
	Tags                                 []string
	Date                                 string
	Overrides                            map[string]map[string]any
	Body                                 string
	Cover                                string
	Images                               [][2]string // reference, content
}

func (a *Article) contentHash() (string, error) {
	c := content{
		Title: a.Title, Author: a.Author, Summary: a.Summary, CanonicalURL: a.CanonicalURL,
		Tags: a.Tags, Body: a.Body, Cover: a.Cover.identity(),
		Overrides: map[string]map[string]any{},
	}
	if !a.Date.IsZero() {
		c.Date = a.Date.Format(time.RFC3339Nano)
	}
	for target, values := range a.Overrides {
		values = maps.Clone(values)
		if cover, ok := values["cover"].(*Image); ok {
			values["cover"] = cover.identity()
		}
		c.Overrides[target] = values
	}
	for _, im := range a.Images {
		c.Images = append(c.Images, [2]string{im.Ref, im.identity()})
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode content: %w", err)
	}
	return hexSHA256(encoded), nil
}

// identity is what an image is, wherever it lies.
func (im *Image) identity() string {
	if im == nil {
		return ""
	}
	return im.SHA256 + im.URL
}

// fingerprint is the same for two texts that differ in white space only.
func (a *Article) fingerprint() string {
	return hexSHA256([]byte(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, a.Title+"\x00"+a.Body)))
}
