package degrade

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"herald/article"
)

// markdown reads what authors write; how it is shown does not matter here.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser()

// source is an article, parsed once for all rules.
type source struct {
	article *article.Article
	body    []byte
	lines   []int // offsets in body at which its lines begin
	root    ast.Node
	// prose is body with blanks in the place of all that is not running text:
	// marks, code, HTML and addresses. Offsets are the same.
	prose   []byte
	chinese bool
}

func parse(a *article.Article) *source {
	s := &source{article: a, body: []byte(a.Body), lines: []int{0}}
	for i, c := range s.body {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	s.root = markdown.Parse(text.NewReader(s.body))
	s.prose = s.runningText()
	s.chinese = isChinese(a.Title + " " + string(s.prose))
	return s
}

func (s *source) runningText() []byte {
	prose := bytes.Repeat([]byte{' '}, len(s.body))
	for _, start := range s.lines[1:] {
		prose[start-1] = '\n'
	}
	s.walk(func(n ast.Node) {
		if t, ok := n.(*ast.Text); ok && n.Parent().Kind() != ast.KindCodeSpan {
			copy(prose[t.Segment.Start:t.Segment.Stop], s.body[t.Segment.Start:t.Segment.Stop])
		}
	})
	return prose
}

// walk visits every node once.
func (s *source) walk(visit func(ast.Node)) {
	_ = ast.Walk(s.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			visit(n)
		}
		return ast.WalkContinue, nil // never fails
	})
}

// line returns the line in the file of an offset in the body.
func (s *source) line(offset int) int {
	return s.article.BodyLine + sort.SearchInts(s.lines, offset+1) - 1
}

// isProse reports whether running text stands at an offset.
func (s *source) isProse(offset int) bool { return s.prose[offset] == s.body[offset] }

// field is a text of the front matter.
type field struct{ name, text string }

// fields are the texts that readers see beside the body, those of overrides
// included.
func (s *source) fields() []field {
	a := s.article
	all := []field{{"title", a.Title}, {"summary", a.Summary}, {"author", a.Author}, {"tags", strings.Join(a.Tags, ", ")}}
	for target, values := range a.Overrides {
		for key, value := range values {
			switch value := value.(type) {
			case string:
				all = append(all, field{target + "." + key, value})
			case []string:
				all = append(all, field{target + "." + key, strings.Join(value, ", ")})
			}
		}
	}
	slices.SortStableFunc(all[4:], func(a, b field) int { return strings.Compare(a.name, b.name) })
	return all
}

// about is what a judge is told of the article as a whole.
func (s *source) about() string {
	lines := []string{"title: " + s.article.Title}
	if s.article.Summary != "" {
		lines = append(lines, "summary: "+s.article.Summary)
	}
	return redactSecrets(strings.Join(lines, "\n"))
}

// parts cuts the body into parts of at most so many characters, of about the
// same length, at headings where it can, else between paragraphs. Secrets are
// taken out: they go to no service.
func (s *source) parts(most int) []string {
	total := utf8.RuneCount(s.body)
	even := total/max(1, (total+most-1)/most) + 1
	var parts []string
	var part strings.Builder
	length := 0
	flush := func() {
		if strings.TrimSpace(part.String()) != "" {
			parts = append(parts, redactSecrets(part.String()))
		}
		part.Reset()
		length = 0
	}
	for _, piece := range s.pieces(most) {
		n := utf8.RuneCountInString(piece)
		if length+n > most || length >= even {
			flush()
		}
		part.WriteString(piece)
		length += n
	}
	flush()
	if len(parts) == 0 {
		return []string{""}
	}
	return parts
}

// pieces cuts the body at its headings, and what is still too long between
// blocks, then anywhere.
func (s *source) pieces(most int) []string {
	var pieces []string
	for _, section := range s.cut(0, len(s.body), true) {
		if utf8.RuneCount(s.body[section[0]:section[1]]) <= most {
			pieces = append(pieces, string(s.body[section[0]:section[1]]))
			continue
		}
		for _, block := range s.cut(section[0], section[1], false) {
			for chunk := range slices.Chunk([]rune(string(s.body[block[0]:block[1]])), most) {
				pieces = append(pieces, string(chunk))
			}
		}
	}
	return pieces
}

// cut cuts a range of the body where top-level headings begin, or all blocks.
func (s *source) cut(from, to int, headings bool) [][2]int {
	var cuts [][2]int
	begin := from
	for n := s.root.FirstChild(); n != nil; n = n.NextSibling() {
		at := n.Pos()
		if at <= begin || at >= to || headings && n.Kind() != ast.KindHeading {
			continue
		}
		at = s.lines[sort.SearchInts(s.lines, at+1)-1] // its indentation belongs to it
		if at > begin {
			cuts = append(cuts, [2]int{begin, at})
			begin = at
		}
	}
	return append(cuts, [2]int{begin, to})
}
