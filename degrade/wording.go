package degrade

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// placeholderWords stand for text to come.
var placeholderWords = []string{
	"TODO", "TBD", "FIXME", "lorem ipsum", "Lorem ipsum", "LOREM IPSUM",
	"待补充", "待完善", "待添加", "待填写", "待撰写", "此处填写", "此处插入", "[插入", "[此处", "[insert ", "[Insert ", "[your ", "[Your ",
}

// listWords behind one of them make it the name of a kind of list.
var listWords = []string{" list", " app", "-list", "列表", "清单", "应用"}

// placeholdersIn returns where such words begin, and which.
func placeholdersIn(text string) (places []int, words []string) {
	for _, word := range placeholderWords {
		for at := 0; ; at += len(word) {
			i := strings.Index(text[at:], word)
			if i < 0 {
				break
			}
			at += i
			before, after := text[:at], text[at+len(word):]
			isList := slices.ContainsFunc(listWords, func(l string) bool { return strings.HasPrefix(after, l) })
			isPart := endsInWord(before) && beginsInWord(word) || endsInWord(word) && beginsInWord(after)
			if !isList && !isPart {
				places, words = append(places, at), append(words, strings.TrimLeft(strings.TrimSpace(word), "["))
			}
		}
	}
	return places, words
}

func beginsInWord(s string) bool { return s != "" && isWordByte(s[0]) }

func endsInWord(s string) bool { return s != "" && isWordByte(s[len(s)-1]) }

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// placeholders finds such words in the running text and the front matter.
func (s *source) placeholders() []Finding {
	const what, fix = "placeholder text %q is left", "write the text, or take it out"
	var found []Finding
	places, words := placeholdersIn(string(s.prose))
	for i, at := range places {
		found = append(found, s.warn(RulePlaceholder, at, fmt.Sprintf(what, words[i]), fix))
	}
	for _, f := range s.fields() {
		if _, words := placeholdersIn(f.text); len(words) > 0 {
			found = append(found, Finding{
				Rule: RulePlaceholder, Severity: Warning, Field: f.name, Message: fmt.Sprintf(what, words[0]), Suggestion: fix,
			})
		}
	}
	return found
}

// Marks that come in two widths.
const (
	halfMarks = ",;:?!"
	fullMarks = "，；：？！。"
)

// pairMixed matches brackets of which one is full and one half width.
var pairMixed = regexp.MustCompile(`\([^()（）\n]*）|（[^()（）\n]*\)`)

// punctuation finds marks of the wrong width: half-width ones behind a Chinese
// character, in an English text full-width ones behind a letter, and brackets of
// two widths. Each kind is told once, with its number.
func (s *source) punctuation() []Finding {
	var found []Finding
	tell := func(places []int, what, fix string) {
		if len(places) > 0 {
			found = append(found, s.warn(RulePunctuation, places[0], fmt.Sprintf("%s, the first of them here", count(len(places), what)), fix))
		}
	}
	wrong, before, marks := "half-width mark", isHan, halfMarks
	if !s.chinese {
		wrong, before, marks = "full-width mark", isLatin, fullMarks
	}
	tell(s.marksBehind(before, marks), wrong, "use the width of the text around")
	var pairs []int
	for _, m := range pairMixed.FindAllIndex(s.prose, -1) {
		pairs = append(pairs, m[0])
	}
	tell(pairs, "pair of brackets of two width", "use the same width for both")
	return found
}

// marksBehind returns where one of marks stands between a letter of a kind and
// another one of the kind, a space or the end.
func (s *source) marksBehind(kind func(rune) bool, marks string) []int {
	var places []int
	var last rune
	for i := 0; i < len(s.prose); {
		r, size := utf8.DecodeRune(s.prose[i:])
		if strings.ContainsRune(marks, r) && kind(last) {
			next, _ := utf8.DecodeRune(s.prose[i+size:])
			if kind(next) || unicode.IsSpace(next) || next == utf8.RuneError {
				places = append(places, i)
			}
		}
		last = r
		i += size
	}
	return places
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

func isLatin(r rune) bool { return unicode.Is(unicode.Latin, r) }
