package article

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// defaultMaxText is the most bytes a Markdown file may have unless Options say
// otherwise. A long book is about 2 MiB.
const defaultMaxText = 4 << 20

// Options say how Load reads an article.
type Options struct {
	// Location is the zone of times without one; nil means UTC.
	Location *time.Location
	// Root is the queue folder. Images come from the article's own folder or
	// from Root/assets and from nowhere else. Empty: there is no queue.
	Root string
	// Name is how the file is named in messages, relative to the queue; empty
	// means the base of the path.
	Name string
	// ID forces the identity, for an admitted source that is read again.
	ID string
	// Targets are the names allowed under platforms and as keys of overrides;
	// nil allows any.
	Targets []string
	// MaxText is the most bytes the Markdown file may have; 0 means 4 MiB.
	MaxText int64
}

// Load reads the article at path: a Markdown file, or a folder that holds
// index.md or exactly one .md file. What is wrong with the article itself comes
// back as [Problems], gathered in one go; any other error is that of the file
// system and wraps its cause.
func Load(path string, o Options) (*Article, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	src, err := locate(path, o)
	if err != nil {
		return nil, err
	}
	text, err := src.read(o.MaxText)
	if err != nil {
		return nil, err
	}

	l := &loader{opts: o, name: src.name, a: &Article{
		ID: src.id, File: src.file, Dir: src.dir, Consistency: BestEffort,
	}}
	l.load(text)
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, func(a, b *Problem) int { return cmp.Compare(a.Line, b.Line) })
		return nil, l.problems
	}
	if l.a.Hash, err = l.a.contentHash(); err != nil {
		return nil, fmt.Errorf("read article: %w", err)
	}
	l.a.Fingerprint = l.a.fingerprint()
	return l.a, nil
}

func (o Options) withDefaults() (Options, error) {
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.MaxText == 0 {
		o.MaxText = defaultMaxText
	}
	if o.Root != "" {
		root, err := filepath.Abs(o.Root)
		if err != nil {
			return o, fmt.Errorf("find the queue folder: %w", err)
		}
		o.Root = root
	}
	return o, nil
}

// loader gathers one article and everything that is wrong with it.
type loader struct {
	opts     Options
	name     string // of the file, in messages
	a        *Article
	problems Problems
	// covers are the covers named in the front matter, by target; the empty
	// name is the article's own.
	covers map[string]coverRef
	// titleRefused says that there is a title, but not one that can be read.
	titleRefused bool
}

type coverRef struct {
	reference
	line int
}

func (l *loader) report(line int, p *Problem) {
	p.File, p.Line = l.name, line
	l.problems = append(l.problems, p)
}

func (l *loader) note(line int, format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if line > 0 {
		note = fmt.Sprintf("line %d: %s", line, note)
	}
	l.a.Notes = append(l.a.Notes, note)
}

func (l *loader) load(text string) {
	parts, p := split(text)
	if p != nil {
		l.report(p.Line, p)
		return
	}
	understood := l.readFrontMatter(parts.front, parts.frontLine)
	l.setBody(parts.body, parts.bodyLine)
	if offset := deepLine(l.a.Body); offset >= 0 {
		l.report(l.bodyLine(offset), &Problem{
			Rule: "too-deep", What: fmt.Sprintf("more than %d quotes and lists are nested here", maxNesting),
			Fix: "nest less, or write it as code",
		})
		return
	}
	doc := parseMarkdown(l.a.Body)
	if title, body, ok := doc.takeTitle(l.a.Title); ok {
		l.a.Title = title
		l.setBody(body, l.a.BodyLine)
		doc = parseMarkdown(l.a.Body)
	}
	if understood && !l.titleRefused && l.a.Title == "" {
		l.report(0, &Problem{
			Rule: "title-missing", What: "the article has no title",
			Fix: `add "title: …" to the front matter or begin the text with a "# Heading"`,
		})
	}
	l.checkBody(doc)
	l.loadImages(doc)
	if l.opts.ID != "" {
		l.a.ID = l.opts.ID
	}
}

// setBody takes body as the article's, without control characters and without
// blank lines at both ends. line is where body begins in the file.
func (l *loader) setBody(body string, line int) {
	removed, first := 0, 0
	at := line
	body = strings.Map(func(r rune) rune {
		if r == '\n' {
			at++
		} else if unicode.IsControl(r) && r != '\t' {
			if removed++; first == 0 {
				first = at
			}
			return -1
		}
		return r
	}, body)
	if removed > 0 {
		l.note(first, "%d control characters were removed from the text, the first of them here", removed)
	}
	for {
		blank, rest, ok := strings.Cut(body, "\n")
		if !ok || strings.TrimSpace(blank) != "" {
			break
		}
		body = rest
		line++
	}
	body = strings.TrimRight(body, "\n")
	if body != "" {
		body += "\n"
	}
	l.a.Body, l.a.BodyLine = body, line
}

// maxNesting is how many quotes and lists may be open at once. The time that
// parsing takes grows with the square of their number.
const maxNesting = 100

// marker matches what begins a quote or a list item.
var marker = regexp.MustCompile(`^[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])`)

// deepLine returns the offset of the first line that begins more than
// maxNesting quotes and lists, or -1.
func deepLine(body string) int {
	offset := 0
	for line := range strings.Lines(body) {
		rest := line
		for n := 0; ; n++ {
			m := marker.FindString(rest)
			if m == "" || strings.Trim(rest, "- \t\n") == "" || strings.Trim(rest, "* \t\n") == "" { // a rule is no list
				break
			}
			if n == maxNesting {
				return offset
			}
			rest = rest[len(m):]
		}
		offset += len(line)
	}
	return -1
}

// visible matches what a reader sees though it is no text.
var visible = regexp.MustCompile(`<(img|svg|iframe|video|audio|object|embed|canvas|math)\b`)

func (l *loader) checkBody(doc *document) {
	for _, offset := range doc.unclosedFences() {
		l.note(l.bodyLine(offset), "the code block that begins here is never closed")
	}
	if len(doc.references) > 0 {
		return
	}
	rendered := doc.render(doc.root)
	if visible.MatchString(rendered) || strings.ContainsFunc(plainText(rendered), isVisible) {
		return
	}
	line := l.a.BodyLine
	if l.a.Body == "" {
		line = 0 // there is none
	}
	l.report(line, &Problem{
		Rule: "body-missing", What: "the article has no text",
		Fix: "write the text behind the front matter; comments and white space do not count",
	})
}

func isVisible(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r)
}

// bodyLine returns the line in the file of an offset in the body.
func (l *loader) bodyLine(offset int) int {
	return l.a.BodyLine + strings.Count(l.a.Body[:offset], "\n")
}

// loadImages resolves every image of the body and every cover.
func (l *loader) loadImages(doc *document) {
	r := newResolver(l.a.Dir, l.opts.Root, l.name)
	seen := map[string]bool{}
	for _, ref := range doc.references {
		if seen[ref.ref] {
			continue
		}
		seen[ref.ref] = true
		if im, ok := l.resolve(r, ref, l.bodyLine(ref.start)); ok {
			l.a.Images = append(l.a.Images, im)
		}
	}
	if len(l.a.Images) > 0 {
		first := l.a.Images[0]
		l.a.Cover = &first
	}
	for _, target := range slices.Sorted(maps.Keys(l.covers)) {
		cover := l.covers[target]
		im, ok := l.resolve(r, cover.reference, cover.line)
		switch {
		case !ok:
		case target == "":
			l.a.Cover = &im
		default:
			l.a.Overrides[target]["cover"] = &im
		}
	}
	l.a.nameImages()
}

func (l *loader) resolve(r *resolver, ref reference, line int) (Image, bool) {
	im, p := r.resolve(ref)
	if p != nil {
		l.report(line, p)
		return Image{}, false
	}
	return im, true
}
