package degrade

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	ahocorasick "github.com/anknown/ahocorasick"
	"golang.org/x/text/width"
)

// Word is one entry of a word list.
type Word struct {
	Text   string
	Refuse bool // holds the article; else it warns
}

// ReadWords reads a word list: one word a line, below a line [refuse] or [warn]
// that says what it does; before the first such line words warn. Empty lines and
// lines that begin with # are left out. name is the file's, for errors.
func ReadWords(r io.Reader, name string) ([]Word, error) {
	var words []Word
	refuse := false
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		switch {
		case text == "", strings.HasPrefix(text, "#"):
		case text == "[refuse]", text == "[warn]":
			refuse = text == "[refuse]"
		case strings.HasPrefix(text, "["):
			return nil, fmt.Errorf("%s:%d: %q is no class; write [refuse] or [warn]", name, n, clean(text, 40))
		case len(fold(text)) == 0:
			return nil, fmt.Errorf("%s:%d: the word has no visible character", name, n)
		default:
			words = append(words, Word{text, refuse})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return words, nil
}

// wordList finds many words in one pass. The automaton works on characters: one
// on bytes takes ten times the memory for a list in Chinese.
type wordList struct {
	automaton ahocorasick.Machine
	words     map[string]Word // by folded text
}

// newWordList returns nil for no words. Of one that is listed twice the stricter
// entry counts.
func newWordList(words []Word) (*wordList, error) {
	if len(words) == 0 {
		return nil, nil
	}
	l := &wordList{words: make(map[string]Word, len(words))}
	var patterns [][]rune
	for _, w := range words {
		letters := fold(w.Text)
		key := string(runes(letters))
		known, twice := l.words[key]
		if !twice && len(letters) > 0 {
			patterns = append(patterns, runes(letters))
		}
		l.words[key] = Word{w.Text, w.Refuse || known.Refuse}
	}
	if err := l.automaton.Build(patterns); err != nil {
		return nil, err
	}
	return l, nil
}

// letter is a character of a text and the offset that it stands at.
type letter struct {
	r      rune
	offset int
}

// fold makes texts alike that look alike: small letters, half width, nothing
// invisible.
func fold(text string) []letter {
	letters := make([]letter, 0, len(text)/2)
	for i, r := range text {
		if r < unicode.MaxASCII {
			letters = append(letters, letter{unicode.ToLower(r), i})
			continue
		}
		if unicode.Is(unicode.Cf, r) {
			continue
		}
		if half := width.LookupRune(r).Folded(); half != 0 {
			r = half
		}
		letters = append(letters, letter{unicode.ToLower(r), i})
	}
	return letters
}

func runes(letters []letter) []rune {
	all := make([]rune, len(letters))
	for i, l := range letters {
		all[i] = l.r
	}
	return all
}

// in finds the words of the list in an article; each is told where it stands
// first.
func (l *wordList) in(s *source) []Finding {
	if l == nil {
		return nil
	}
	told := map[string]bool{}
	found := l.find(s.article.Body, told, func(f *Finding, offset int) { f.Line = s.line(offset) })
	for _, field := range s.fields() {
		found = append(found, l.find(field.text, told, func(f *Finding, _ int) { f.Field = field.name })...)
	}
	return found
}

func (l *wordList) find(text string, told map[string]bool, place func(*Finding, int)) []Finding {
	var found []Finding
	letters := fold(text)
	content := runes(letters)
	for _, hit := range l.automaton.MultiPatternSearch(content, false) {
		word := l.words[string(hit.Word)]
		if told[word.Text] || insideWord(content, hit.Pos, hit.Pos+len(hit.Word)) {
			continue
		}
		told[word.Text] = true
		f := Finding{Rule: RuleWord, Severity: Warning, Message: fmt.Sprintf("the word list warns of %q", word.Text), Suggestion: "choose another word"}
		if word.Refuse {
			f.Rule, f.Severity, f.Message = RuleRefused, Error, fmt.Sprintf("the word list refuses %q", word.Text)
		}
		place(&f, letters[hit.Pos].offset)
		found = append(found, f)
	}
	return found
}

// insideWord reports whether a hit is part of a longer Latin word, as "ass" in
// "class".
func insideWord(content []rune, start, end int) bool {
	return start > 0 && isAlphanumeric(content[start-1]) && isAlphanumeric(content[start]) ||
		end < len(content) && isAlphanumeric(content[end]) && isAlphanumeric(content[end-1])
}

func isAlphanumeric(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
