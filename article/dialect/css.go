package dialect

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/cascadia"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// sheet is compiled CSS, ready to be written into style attributes. The inliners
// that read a page with its <style> parse the CSS of the theme again for every
// article, which costs ten times what the Markdown does.
type sheet struct {
	rules     []rule
	index     map[string][]int // rules by the last element or class of their selector
	codeStyle string
	warnings  []string

	// joined holds the declarations of each set of rules that was ever matched
	// together: an article has hundreds of paragraphs and few kinds of them.
	joined sync.Map
}

// rule is one selector with its declarations.
type rule struct {
	selector     cascadia.Sel
	specificity  cascadia.Specificity
	declarations []declaration
}

type declaration struct {
	property, value string
	important       bool
}

// codeStyleProperty names chroma's style for code.
const codeStyleProperty = "--code-style"

func (s *sheet) warn(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

// add parses CSS behind what is there.
func (s *sheet) add(source string) error {
	p := css.NewParser(parse.NewInputString(source), false)
	var selectors []string
	var current []declaration
	depth := 0 // of at-rules
	for {
		grammar, _, data := p.Next()
		switch grammar {
		case css.ErrorGrammar:
			if p.HasParseError() {
				return p.Err()
			}
			if err := p.Err(); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		case css.AtRuleGrammar:
			s.warn("CSS %s is left out: it has no inline form", data)
		case css.BeginAtRuleGrammar:
			s.warn("CSS %s is left out: it has no inline form", data)
			depth++
		case css.EndAtRuleGrammar:
			depth--
		case css.QualifiedRuleGrammar:
			selectors = append(selectors, tokens(p.Values()))
		case css.BeginRulesetGrammar:
			selectors = append(selectors, tokens(p.Values()))
		case css.DeclarationGrammar, css.CustomPropertyGrammar:
			if depth == 0 {
				current = append(current, s.declaration(string(data), tokens(p.Values()))...)
			}
		case css.EndRulesetGrammar:
			if depth == 0 {
				s.addRules(selectors, current)
			}
			selectors, current = nil, nil
		}
	}
}

// tokens joins the tokens of a selector or a value.
func tokens(list []css.Token) string {
	var b strings.Builder
	for _, t := range list {
		b.Write(t.Data)
	}
	return strings.TrimSpace(b.String())
}

var importantMark = regexp.MustCompile(`(?i)\s*!\s*important$`)

// declaration takes one declaration in; none if it has no inline form.
func (s *sheet) declaration(property, value string) []declaration {
	property = strings.ToLower(property)
	bare := importantMark.ReplaceAllString(value, "")
	important := bare != value
	value = bare
	switch {
	case property == codeStyleProperty:
		s.codeStyle = value
		return nil
	case strings.HasPrefix(property, "--") || strings.Contains(value, "var("):
		s.warn("CSS %s: %s is left out: WeChat knows no custom properties", property, value)
		return nil
	}
	return []declaration{{property, value, important}}
}

// interactive are the pseudo-classes that cascadia reads but never matches.
var interactive = regexp.MustCompile(`:(active|focus|hover|target|visited)\b`)

func (s *sheet) addRules(selectors []string, declarations []declaration) {
	if len(declarations) == 0 {
		return
	}
	for _, source := range selectors {
		group, err := cascadia.ParseGroup(source)
		if err != nil || interactive.MatchString(source) {
			s.warn("CSS %s is left out: it has no inline form", source)
			continue
		}
		for _, selector := range group {
			s.append(rule{selector, selector.Specificity(), declarations})
		}
	}
}

// append adds rules behind those of s.
func (s *sheet) append(rules ...rule) {
	if s.index == nil {
		s.index = map[string][]int{}
	}
	for _, r := range rules {
		key := lastKey(r.selector.String())
		s.index[key] = append(s.index[key], len(s.rules))
		s.rules = append(s.rules, r)
	}
}

// lastKey returns the element, or else the class with its dot, that an element has
// to have to be matched by the selector; empty if there is none that is plain to
// see.
func lastKey(selector string) string {
	if strings.ContainsAny(selector, `[(\"'`) {
		return ""
	}
	last := selector[strings.LastIndexAny(selector, " >+~")+1:]
	name := last
	if strings.HasPrefix(last, ".") {
		name = last[1:]
	}
	name, _, _ = strings.Cut(name, ".")
	name, _, _ = strings.Cut(name, ":")
	if strings.HasPrefix(last, ".") {
		return "." + name
	}
	if strings.ContainsAny(name, "*#") {
		return ""
	}
	return name
}

// style returns what stands in the style attribute of n.
func (s *sheet) style(n *html.Node) string {
	matched := s.match(n)
	own := inline(n)
	key := make([]byte, 0, 32)
	for _, i := range matched {
		key = binary.AppendUvarint(key, uint64(i))
	}
	if style, ok := s.joined.Load(string(key)); ok && len(own) == 0 {
		return style.(string)
	}
	var list []declaration
	for _, i := range matched {
		list = append(list, s.rules[i].declarations...)
	}
	style := join(append(list, own...))
	if len(own) == 0 {
		s.joined.Store(string(key), style)
	}
	return style
}

// match returns the rules that match n, the one that counts most last.
func (s *sheet) match(n *html.Node) []int {
	matched := make([]int, 0, 16)
	add := func(candidates []int) {
		for _, i := range candidates {
			if s.rules[i].selector.Match(n) {
				matched = append(matched, i)
			}
		}
	}
	add(s.index[n.Data])
	add(s.index[""])
	for class := range strings.FieldsSeq(attr(n, "class")) {
		add(s.index["."+class])
	}
	slices.SortFunc(matched, func(i, j int) int {
		a, b := s.rules[i].specificity, s.rules[j].specificity
		return cmp.Or(slices.Compare(a[:], b[:]), i-j)
	})
	return slices.Compact(matched)
}

// inline returns the declarations that the author wrote for n alone.
func inline(n *html.Node) []declaration {
	var list []declaration
	if align := attr(n, "align"); align != "" {
		list = append(list, declaration{property: "text-align", value: align})
	}
	own := attr(n, "style")
	if own == "" {
		return list
	}
	p := css.NewParser(parse.NewInputString(own), true)
	for {
		grammar, _, data := p.Next()
		switch grammar {
		case css.ErrorGrammar:
			if !p.HasParseError() {
				return list
			}
		case css.DeclarationGrammar:
			list = append(list, declaration{property: strings.ToLower(string(data)), value: tokens(p.Values())})
		}
	}
}

// join writes declarations, of each property only the one that counts. A later one
// keeps its place behind the earlier ones, so that a shorthand still rules over the
// properties that it stands for.
func join(list []declaration) string {
	slices.SortStableFunc(list, func(a, b declaration) int {
		switch {
		case a.important == b.important:
			return 0
		case a.important:
			return 1
		default:
			return -1
		}
	})
	var b strings.Builder
	for i, d := range list {
		if slices.ContainsFunc(list[i+1:], func(later declaration) bool { return later.property == d.property }) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(';')
		}
		b.WriteString(d.property + ":" + d.value)
	}
	return b.String()
}
