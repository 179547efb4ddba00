package degrade

import (
	"math/rand/v2"
	"strings"
	"testing"

	"herald/article"
)

// BenchmarkBasicCheck checks an article of 10,000 characters against 50,000
// words.
func BenchmarkBasicCheck(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteRune(rune(0x4e00 + r.IntN(6000)))
		}
		return b.String()
	}
	words := make([]Word, 50_000)
	for i := range words {
		words[i] = Word{Text: word(2 + r.IntN(4)), Refuse: i%2 == 0}
	}
	var body strings.Builder
	for i := 0; body.Len() < 30_000; i++ {
		if i%10 == 0 {
			body.WriteString("## " + word(8) + "\n\n")
		}
		body.WriteString(word(40) + "，[" + word(4) + "](https://example.com/x)，`code`。" + word(40) + "。\n\n")
	}
	a := &article.Article{ID: "a", Title: word(12), Body: body.String(), BodyLine: 4}
	j := newJudge(b, Options{Words: words})
	b.ReportAllocs()
	for b.Loop() {
		j.Check(a, Subject{})
	}
}
