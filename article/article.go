// Package article reads a Markdown article with its front matter and images,
// and renders it into the dialects that platforms take. It says what is wrong
// with an article, with file, line and remedy. It makes no network call and
// knows no platform.
package article

import (
	"fmt"
	"strings"
	"time"
)

// Consistency says what to do when some platforms have an article and others
// never will.
type Consistency string

// The two values of the front matter's consistency.
const (
	BestEffort   Consistency = "best_effort"
	AllOrNothing Consistency = "all_or_nothing"
)

// Article is one parsed source: front matter, body and images. It is immutable
// after Load and safe for concurrent use.
type Article struct {
	// ID is the identity: front matter id, else the slug of the file's or
	// folder's name. It is safe as a path element.
	ID string
	// File is the Markdown file that was read, Dir the folder that image
	// references resolve in.
	File string
	Dir  string

	Title        string
	Author       string
	Summary      string
	CanonicalURL string
	Tags         []string
	// Date is the front matter's date in the configured zone; zero if absent.
	Date time.Time

	// Routing, not content: it changes no revision.
	Platforms      []string  // nil: every enabled target
	PublishAt      time.Time // zero: now
	SkipIfLate     time.Duration
	Consistency    Consistency
	AllowDuplicate bool
	Draft          bool
	ChecksOff      []string // rules of the quality check that are switched off

	// Overrides holds the per-target front matter, by target name. Of the common
	// keys tags is a []string, cover an *Image and each other a string.
	Overrides map[string]map[string]any
	// Options holds, after For, the overrides that are not common keys.
	Options map[string]any

	// Body is the Markdown behind the front matter, line endings "\n", without
	// the H1 that gave the title. BodyLine is the line in File of its first
	// line.
	Body     string
	BodyLine int
	// Cover is the cover image; nil if there is none.
	Cover *Image
	// Images are the body's images in order of appearance, each reference once.
	Images []Image
	// Notes are what Load let pass but a person may want to know, such as an
	// ignored key.
	Notes []string

	// Hash identifies the content (a revision), Fingerprint title and body
	// without white space (a duplicate). Both are hex SHA-256.
	Hash        string
	Fingerprint string
}

// Image is a picture that an article refers to.
type Image struct {
	// Ref is the reference as written in the source.
	Ref string `json:"ref"`
	// Path is the file of a local image; empty for a remote one.
	Path string `json:"path,omitempty"`
	// URL is the address of a remote image; empty for a local one.
	URL string `json:"url,omitempty"`
	Alt string `json:"alt,omitempty"`
	// Name is a file name for the copy: unique within the article, ASCII, with
	// the extension of the real type.
	Name string `json:"name,omitempty"`
	// Type is the media type by content, never by name; empty for a remote one.
	Type string `json:"type,omitempty"`
	// SHA256 is the content's hash in hex; empty for a remote one.
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size,omitempty"` // bytes
}

// Problem is one thing wrong with an article.
type Problem struct {
	File string // as the person knows it, relative to the queue
	Line int    // from 1; 0 when it has no line
	// Rule is a short stable id: "title-missing", "image-missing".
	Rule string
	// What is wrong, and Fix what to do about it.
	What, Fix string
}

// Error says file, line, fault and remedy in one line.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": " + p.What)
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return b.String()
}

// Problems is everything wrong with an article. Load returns it as its error.
type Problems []*Problem

// Error gives one line a problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Has reports whether one of the problems has the rule.
func (ps Problems) Has(rule string) bool {
	for _, p := range ps {
		if p.Rule == rule {
			return true
		}
	}
	return false
}

// RuleImageMissing is the rule of an image that is not there, which the queue
// waits for before it refuses the article.
const RuleImageMissing = "image-missing"
