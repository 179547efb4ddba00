package degrade

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"herald/platforms"
)

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	Error   Severity = "error" // it cannot go out like this
	Warning Severity = "warn"  // a person may want to mend it
)

// Finding is one thing that the basic check finds.
type Finding struct {
	Rule     string   `json:"rule"` // a short stable id
	Severity Severity `json:"severity"`
	// Line is that of the article's file; 0 when it is not in the text: Field is
	// then the key of the front matter, or Target the one platform it is about.
	Line       int    `json:"line,omitempty"`
	Field      string `json:"field,omitempty"`
	Target     string `json:"target,omitempty"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// Holds reports whether the finding holds the whole article.
func (f Finding) Holds() bool { return f.Severity == Error && f.Target == "" }

// String says place, fault and remedy in one line, as in "line 3: …".
func (f Finding) String() string {
	s := f.Message
	switch {
	case f.Line > 0:
		s = fmt.Sprintf("line %d: %s", f.Line, s)
	case f.Target != "":
		s = f.Target + ": " + s
	case f.Field != "":
		s = f.Field + ": " + s
	}
	if f.Suggestion != "" {
		s += "; " + f.Suggestion
	}
	return s
}

// The rules that can refuse an article, or one delivery of it. They are always in
// force.
const (
	RuleTitle   = "title-missing"
	RuleBody    = "body-missing"
	RuleImage   = "image-missing"
	RuleRefused = "word-refused"
	RuleLimit   = "limit" // one target refuses it
)

// The rules that warn. An article may switch them off.
const (
	RuleImageBroken = "image-broken"
	RuleRendering   = "rendering"   // a target gets something else than was written
	RuleLink        = "link"        // an address that leads nowhere
	RuleHeading     = "heading"     // levels out of order
	RuleFence       = "fence"       // a code block that is not closed
	RulePlaceholder = "placeholder" // words that stand for text to come
	RuleWiki        = "wiki"        // syntax that only a wiki understands
	RuleSecret      = "secret"      // a key, token or password
	RuleWord        = "word"        // of the word list, class warn
	RulePunctuation = "punctuation" // full and half width mixed
	RuleDuplicate   = "duplicate"   // much like an earlier article
	ruleOff         = "off"         // what is switched off is no rule that can be
)

// Optional are the rules that an article may switch off.
var Optional = []string{
	RuleImageBroken, RuleRendering, RuleLink, RuleHeading, RuleFence, RulePlaceholder,
	RuleWiki, RuleSecret, RuleWord, RulePunctuation, RuleDuplicate,
}

// findings applies all rules that are not switched off.
func (j *Judge) findings(s *source, on Subject) []Finding {
	all := slices.Concat(
		s.missing(), s.images(), rendered(on.Renderings), s.links(), s.headings(), s.fences(),
		s.placeholders(), s.wiki(), s.secrets(), j.words.in(s), s.punctuation(), s.duplicates(j.o.Recent, on.Now),
	)
	all = slices.DeleteFunc(all, func(f Finding) bool { return f.Severity == Warning && slices.Contains(on.Off, f.Rule) })
	for _, rule := range on.Off {
		if !slices.Contains(Optional, rule) {
			all = append(all, Finding{
				Rule: ruleOff, Severity: Warning, Field: "quality",
				Message:    fmt.Sprintf("%q is no rule that can be switched off", clean(rule, 40)),
				Suggestion: "these can: " + strings.Join(Optional, ", "),
			})
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Severity, b.Severity)) // "error" comes first
	})
	return all
}

// rendered are what the targets' adapters found.
func rendered(renderings []Rendering) []Finding {
	var found []Finding
	for _, r := range renderings {
		if r.Err != nil {
			message := r.Err.Error()
			if e, ok := errors.AsType[*platforms.Error](r.Err); ok && e.Message != "" {
				message = e.Message
			}
			found = append(found, Finding{Rule: RuleLimit, Severity: Error, Target: r.Target, Message: message})
		}
		for _, w := range r.Warnings {
			found = append(found, Finding{Rule: RuleRendering, Severity: Warning, Target: r.Target, Message: w})
		}
	}
	return found
}

// warn is a finding at an offset of the body.
func (s *source) warn(rule string, offset int, message, suggestion string) Finding {
	return Finding{Rule: rule, Severity: Warning, Line: s.line(offset), Message: message, Suggestion: suggestion}
}
