package article

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

func (l *loader) invalid(f field, what, fix string) {
	l.report(f.node.Line, &Problem{Rule: "value-invalid", What: f.key + " " + what, Fix: fix})
}

// single reads a single value as one line of text. It reports any other and then
// returns false.
func (l *loader) single(f field) (string, bool) {
	if f.node.Kind != yaml.ScalarNode {
		l.invalid(f, "must be text, not "+kindName(f.node), "write "+f.key+": text")
		return "", false
	}
	return oneLine(f.node.Value), true
}

func (l *loader) text(f field) string {
	s, _ := l.single(f)
	return s
}

func (l *loader) title(f field) string {
	s, ok := l.single(f)
	if !ok && f.key == "title" {
		l.titleRefused = true
	}
	return s
}

// item is one entry of a list and the node it was written in.
type item struct {
	text string
	node *yaml.Node
}

// list reads a list, a list written with commas, or a single value. Empty
// entries are dropped.
func (l *loader) list(f field) []item {
	var items []item
	add := func(text string, n *yaml.Node) {
		if text = oneLine(text); text != "" {
			items = append(items, item{text, n})
		}
	}
	switch f.node.Kind {
	case yaml.ScalarNode:
		for _, text := range strings.FieldsFunc(f.node.Value, isComma) {
			add(text, f.node)
		}
	case yaml.SequenceNode:
		for _, n := range f.node.Content {
			n = resolveAlias(n)
			switch {
			case n.Kind != yaml.ScalarNode:
				l.invalid(field{f.key, n}, "holds "+kindName(n)+" where text is expected", "write "+f.key+": [one, two]")
			case n.ShortTag() != "!!null":
				add(n.Value, n)
			}
		}
	default:
		l.invalid(f, "must be a list, not "+kindName(f.node), "write "+f.key+": [one, two]")
	}
	return items
}

func isComma(r rune) bool { return r == ',' || r == '，' || r == '、' }

func (l *loader) tags(f field) []string {
	var tags []string
	for _, it := range l.list(f) {
		tag := strings.TrimSpace(strings.TrimLeft(it.text, "#"))
		if tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

func (l *loader) platforms(f field) {
	for _, it := range l.list(f) {
		switch {
		case l.opts.Targets != nil && !slices.Contains(l.opts.Targets, it.text):
			l.report(it.node.Line, l.unknownPlatform(it.text))
		case !slices.Contains(l.a.Platforms, it.text):
			l.a.Platforms = append(l.a.Platforms, it.text)
		}
	}
	if f.node.Kind == yaml.SequenceNode && len(f.node.Content) == 0 {
		l.invalid(f, "is an empty list", "leave the key out to publish everywhere, or write draft: true to hold the article")
	}
}

func (l *loader) unknownPlatform(name string) *Problem {
	fix := "no target is configured"
	if len(l.opts.Targets) > 0 {
		fix = "configured are " + strings.Join(slices.Sorted(slices.Values(l.opts.Targets)), ", ")
	}
	if near := nearest(name, l.opts.Targets); near != "" {
		fix = fmt.Sprintf("did you mean %q? %s", near, fix)
	}
	return &Problem{
		Rule: "platform-unknown", Fix: fix,
		What: fmt.Sprintf("platforms names %q, which is not configured", name),
	}
}

func (l *loader) id(f field) {
	id := l.text(f)
	switch {
	case isID(id):
		l.a.ID = id
	case id != "":
		l.invalid(f, fmt.Sprintf(`%q may hold only letters, digits, "-" and "_", at most %d`, id, maxSlugRunes),
			"write id: "+Slug(id))
	}
}

func (l *loader) webAddress(f field) string {
	s := l.text(f)
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil {
		l.invalid(f, "is not a complete web address without a user name", "write https://example.com/path")
		return ""
	}
	return s
}

func (l *loader) consistency(f field) {
	s, ok := l.single(f)
	if !ok {
		return
	}
	switch c := Consistency(s); c {
	case BestEffort, AllOrNothing:
		l.a.Consistency = c
	default:
		l.invalid(f, fmt.Sprintf("cannot be %q", s), fmt.Sprintf("write %s or %s", BestEffort, AllOrNothing))
	}
}

// flag reads a boolean in the words of YAML 1.1, as people write them.
func (l *loader) flag(f field) bool {
	s, ok := l.single(f)
	if !ok {
		return false
	}
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
		return false
	default:
		l.invalid(f, fmt.Sprintf("cannot be %q", s), "write true or false")
		return false
	}
}

func (l *loader) duration(f field) time.Duration {
	s, ok := l.single(f)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		l.invalid(f, fmt.Sprintf("%q is not a time span", s), "write hours or minutes: 24h, 90m")
		return 0
	}
	return d
}

func (l *loader) time(f field) time.Time {
	s, ok := l.single(f)
	if !ok {
		return time.Time{}
	}
	t, err := parseTime(s, l.opts.Location)
	if err != nil {
		l.report(f.node.Line, &Problem{
			Rule: "date-invalid", What: fmt.Sprintf("%s %q %s", f.key, s, err),
			Fix: "write 2026-06-17 09:00 or 2026-06-17T09:00:00+08:00",
		})
	}
	return t
}
