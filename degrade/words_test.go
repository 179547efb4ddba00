package degrade

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAWordListIsRead(t *testing.T) {
	got, err := ReadWords(strings.NewReader("\ufeff# list\nsoft\n\n[refuse]\n坏词\n  two words \n[warn]\nmild\n"), "words.txt")
	want := []Word{{"soft", false}, {"坏词", true}, {"two words", true}, {"mild", false}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
	for text, fault := range map[string]string{
		"a\n[refused]\n":             `words.txt:2: "[refused]" is no class; write [refuse] or [warn]`,
		"\u200b\n":                   "words.txt:1: the word has no visible character",
		strings.Repeat("x", 100<<10): "read words.txt: bufio.Scanner: token too long",
	} {
		if _, err := ReadWords(strings.NewReader(text), "words.txt"); err == nil || err.Error() != fault {
			t.Errorf("error %v, want %s", err, fault)
		}
	}
}

func TestWordsAreFoundHoweverTheyAreWritten(t *testing.T) {
	j := newJudge(t, Options{Words: []Word{{"坏词", true}, {"Ass", false}, {"词", false}, {"最 好", false}, {"ａｂ", true}, {"ab", false}}})
	tests := map[string][]string{
		"这是坏词。":                  {"word-refused 4", "word 4"},
		"坏\u200b词":               {"word-refused 4", "word 4"},
		"a class, an assembly":   {},
		"an ASS, ａｓｓ":            {"word 4"},
		"坏 词":                    {"word 4"},
		"最 好":                    {"word 4"},
		"x AB x":                 {"word-refused 4"},
		"坏掉的词\n\n```\n坏词\n```":   {"word 4", "word-refused 7"},
		"词词词词":                   {"word 4"},
		"[x](https://a.example)": {},
	}
	for body, want := range tests {
		if diff := cmp.Diff(want, places(j.Check(load(t, "---\ntitle: T\n---\n"+body+"\n"), Subject{}))); diff != "" {
			t.Errorf("%q: -want +got\n%s", body, diff)
		}
	}
}

// The automaton against the plain way of searching.
func TestEveryWordIsFound(t *testing.T) {
	letters := rapid.SampledFrom([]rune("ab你好😀"))
	rapid.Check(t, func(t *rapid.T) {
		var words []Word
		for i, text := range rapid.SliceOfN(rapid.StringOfN(letters, 1, 4, -1), 1, 8).Draw(t, "words") {
			words = append(words, Word{text, i%2 == 0})
		}
		text := rapid.StringOfN(letters, 0, 30, -1).Draw(t, "text")
		l, err := newWordList(words)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, hit := range l.automaton.MultiPatternSearch([]rune(text), false) {
			got[fmt.Sprint(hit.Pos, string(hit.Word))] = true
		}
		want := map[string]bool{}
		for i := range []rune(text) {
			for _, w := range words {
				if strings.HasPrefix(string([]rune(text)[i:]), w.Text) {
					want[fmt.Sprint(i, w.Text)] = true
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}
