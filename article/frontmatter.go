package article

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// field is one key of the front matter and its value.
type field struct {
	key  string // with the target before it in an override: "wechat.title"
	node *yaml.Node
}

// commonKeys read what an override may replace as well, but for the cover, which
// is looked up with the images. They return the value in the type that
// [Article.Overrides] promises.
var commonKeys = map[string]func(*loader, field) any{
	"title":         func(l *loader, f field) any { return l.title(f) },
	"author":        func(l *loader, f field) any { return l.text(f) },
	"summary":       func(l *loader, f field) any { return l.text(f) },
	"canonical_url": func(l *loader, f field) any { return l.webAddress(f) },
	"tags":          func(l *loader, f field) any { return l.tags(f) },
}

// articleKeys read the keys that belong to the article alone.
var articleKeys = map[string]func(*loader, field){
	"id":              func(l *loader, f field) { l.id(f) },
	"platforms":       func(l *loader, f field) { l.platforms(f) },
	"publish_at":      func(l *loader, f field) { l.a.PublishAt = l.time(f) },
	"date":            func(l *loader, f field) { l.a.Date = l.time(f) },
	"skip_if_late":    func(l *loader, f field) { l.a.SkipIfLate = l.duration(f) },
	"consistency":     func(l *loader, f field) { l.consistency(f) },
	"allow_duplicate": func(l *loader, f field) { l.a.AllowDuplicate = l.flag(f) },
	"draft":           func(l *loader, f field) { l.a.Draft = l.flag(f) },
	"cover":           func(l *loader, f field) { l.addCover("", f) },
	"checks_off":      func(l *loader, f field) { l.a.ChecksOff = l.tags(f) },
}

// knownKeys are the names of both.
var knownKeys = slices.Concat(slices.Sorted(maps.Keys(commonKeys)), slices.Sorted(maps.Keys(articleKeys)))

// readFrontMatter reads text, which begins on the given line of the file, into
// the article. It reports whether text could be understood as a whole; then a
// key that is not there is really missing.
func (l *loader) readFrontMatter(text string, line int) bool {
	root, p := parseYAML(text, line)
	if p != nil {
		l.report(p.Line, p)
		return false
	}
	if root == nil {
		return true
	}
	keepTimesAsText(root)
	first := map[string]int{}
	for key, value := range pairs(root) {
		switch before, twice := first[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			l.report(key.Line, &Problem{
				Rule: "front-matter-broken", What: "a key of the front matter is " + kindName(key),
				Fix: `write "key: value"`,
			})
		case twice:
			l.report(key.Line, &Problem{
				Rule: "key-duplicate", What: fmt.Sprintf("%q is already there on line %d", key.Value, before),
				Fix: "remove one of the two",
			})
		default:
			first[key.Value] = key.Line
			l.readKey(key, value)
		}
	}
	return true
}

// readKey reads one key. A null value is a key left empty and counts as absent.
func (l *loader) readKey(key, value *yaml.Node) {
	f := field{key.Value, value}
	empty := value.ShortTag() == "!!null"
	common, isCommon := commonKeys[f.key]
	read, isArticle := articleKeys[f.key]
	switch {
	case isCommon && !empty:
		l.a.apply(f.key, common(l, f))
	case isArticle && !empty:
		read(l, f)
	case isCommon, isArticle:
	case l.isTarget(f):
		if !empty {
			l.override(f)
		}
	default:
		l.otherKey(key.Line, f)
	}
}

// override reads the overrides of one target.
func (l *loader) override(f field) {
	if f.node.Kind != yaml.MappingNode {
		l.report(f.node.Line, &Problem{
			Rule: "value-invalid",
			What: fmt.Sprintf("%q holds what is different on that target and must be a mapping, not %s", f.key, kindName(f.node)),
			Fix:  fmt.Sprintf("write %s: { title: … }; where an article goes is said by platforms: [%s]", f.key, f.key),
		})
		return
	}
	values := map[string]any{}
	err := f.node.Decode(&values)
	if err == nil {
		_, err = json.Marshal(values) // what has no JSON (.nan) has no place in the content's hash
	}
	if err != nil {
		line, what := yamlFault(err, f.node.Line)
		l.report(line, &Problem{
			Rule: "value-invalid", What: fmt.Sprintf("the overrides of %q cannot be read: %s", f.key, what),
			Fix: "use plain keys and values",
		})
		return
	}
	for key, value := range pairs(f.node) {
		read, ok := commonKeys[key.Value]
		isCover := key.Value == "cover"
		if !ok && !isCover {
			continue
		}
		delete(values, key.Value)
		sub := field{f.key + "." + key.Value, value}
		switch {
		case value.ShortTag() == "!!null":
		case isCover:
			l.addCover(f.key, sub) // its value is set when the image is found
		default:
			values[key.Value] = read(l, sub)
		}
	}
	if l.a.Overrides == nil {
		l.a.Overrides = map[string]map[string]any{}
	}
	l.a.Overrides[f.key] = values
}

// addCover keeps a cover to be looked up with the images.
func (l *loader) addCover(target string, f field) {
	name := l.text(f)
	if name == "" {
		return
	}
	ref := reference{ref: name}
	if inner, ok := strings.CutPrefix(strings.TrimPrefix(name, "!"), "[["); ok {
		inner, _ = strings.CutSuffix(inner, "]]")
		ref.ref, ref.alt = splitEmbed(inner)
		ref.form = formEmbed
	}
	if l.covers == nil {
		l.covers = map[string]coverRef{}
	}
	l.covers[target] = coverRef{reference: ref, line: f.node.Line}
}

// parseYAML returns the mapping that text is, nil if text is empty. Line
// numbers of its nodes are those of the file, in which text begins on line.
func parseYAML(text string, line int) (*yaml.Node, *Problem) {
	root, err := decodeYAML(strings.Repeat("\n", max(line-1, 0)) + text)
	if err != nil {
		_, what := yamlFault(err, 0)
		return nil, &Problem{
			Line: line + brokenLine(text), Rule: "front-matter-broken", What: "the front matter is not valid YAML: " + what,
			Fix: `quote a value that holds ": " or begins with one of [ ] { } @ & * # ! | > %, and indent with spaces`,
		}
	}
	if root == nil || root.ShortTag() == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, &Problem{
			Line: root.Line, Rule: "front-matter-broken",
			What: "the front matter is " + kindName(root) + " where keys are expected",
			Fix:  `write "key: value"; a rule at the top of a text is written "***"`,
		}
	}
	return root, nil
}

// decodeYAML returns the root of the one document that text holds, nil if it
// holds none.
func decodeYAML(text string) (*yaml.Node, error) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, errors.New("it holds a second document")
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return resolveAlias(doc.Content[0]), nil
}

// maxBrokenLines is how long front matter may be for its broken line to be
// looked for; each line costs a parse.
const maxBrokenLines = 500

// brokenLine returns the index of the line from which on text is broken: what
// is before it can be read. The package's own line is often that where the
// mapping around the fault begins.
func brokenLine(text string) int {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > maxBrokenLines {
		return 0
	}
	n := len(lines)
	for ; n > 1; n-- {
		if _, err := decodeYAML(strings.Join(lines[:n-1], "")); err == nil {
			break
		}
	}
	return n - 1
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// yamlFault takes the line out of an error of the YAML package, which has it in
// the message only.
func yamlFault(err error, line int) (at int, what string) {
	what = strings.TrimPrefix(err.Error(), "yaml: ")
	what = strings.Join(strings.Fields(strings.TrimPrefix(what, "unmarshal errors:")), " ")
	if m := yamlLine.FindStringSubmatch(what); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			line, what = max(n, line), strings.Replace(what, m[0], "", 1)
		}
	}
	return line, what
}

// pairs yields the keys and values of a mapping, aliases resolved.
func pairs(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], resolveAlias(n.Content[i+1])) {
				return
			}
		}
	}
}

func resolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// keepTimesAsText makes strings of YAML's own times, which are read as UTC, and
// of keys that are numbers or the like.
func keepTimesAsText(n *yaml.Node) {
	for i, c := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		tag := c.ShortTag()
		if tag == "!!timestamp" || isKey && c.Kind == yaml.ScalarNode && tag != "!!merge" {
			c.Tag = "!!str"
		}
		keepTimesAsText(c)
	}
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

// oneLine folds white space and drops control characters.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}
