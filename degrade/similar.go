package degrade

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"time"
	"unicode"
	"unicode/utf8"

	"herald/article"
)

const (
	// memory is how far back near-duplicates are looked for.
	memory = 90 * 24 * time.Hour
	// near is how many of the 64 bits of two similar texts differ at most. Of
	// texts that differ in every fiftieth word about 4 do, in every tenth 12, and
	// of texts that have nothing in common 27 or more.
	near = 8
	// shingle is how many words (in Chinese, characters) make one feature.
	shingle = 3
	// minShingles is how many features a text needs to be compared.
	minShingles = 50
)

// Earlier is an article that was taken before.
type Earlier struct {
	ID      string
	Title   string
	Simhash uint64 // of Simhash
	At      time.Time
}

// Simhash is a fingerprint of an article's text that differs in few bits for
// texts that differ in few words. It is 0 for a text too short to be compared,
// and the same on every machine.
func Simhash(a *article.Article) uint64 { return simhash(parse(a).prose) }

// simhash is Charikar's: every feature votes for each bit of the result.
func simhash(text []byte) uint64 {
	var votes [64]int
	n := 0
	for _, hash := range shingles(text) {
		for i := range votes {
			votes[i] += int(hash>>i&1)*2 - 1
		}
		n++
	}
	if n < minShingles {
		return 0
	}
	var sum uint64
	for i, v := range votes {
		if v > 0 {
			sum |= 1 << i
		}
	}
	return sum
}

// shingles returns the hashes of all runs of neighbouring words. A Chinese
// character counts as a word: there are no spaces to go by.
func shingles(text []byte) []uint64 {
	var words [][]byte
	start := -1
	end := func(at int) {
		if start >= 0 {
			words = append(words, text[start:at])
		}
		start = -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case isHan(r):
			end(i)
			words = append(words, text[i:i+size])
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end(i)
		case start < 0:
			start = i
		}
		i += size
	}
	end(len(text))
	var hashes []uint64
	h := fnv.New64a()
	for i := range max(0, len(words)-shingle+1) {
		h.Reset()
		for _, w := range words[i : i+shingle] {
			_, _ = h.Write(w)         // never fails
			_, _ = h.Write([]byte{0}) // "a bc" is not "ab c"
		}
		hashes = append(hashes, h.Sum64())
	}
	return hashes
}

// duplicates finds an earlier article with nearly the same text. Earlier
// revisions of the same one do not count.
func (s *source) duplicates(recent func(time.Time) []Earlier, now time.Time) []Finding {
	if recent == nil || s.article.AllowDuplicate {
		return nil
	}
	own := simhash(s.prose)
	if own == 0 {
		return nil
	}
	for _, e := range recent(now.Add(-memory)) {
		if e.ID == s.article.ID || e.Simhash == 0 || bits.OnesCount64(own^e.Simhash) > near {
			continue
		}
		return []Finding{{
			Rule: RuleDuplicate, Severity: Warning,
			Message:    fmt.Sprintf("the text is much like that of %q (%s, %s)", e.Title, e.ID, e.At.Format(time.DateOnly)),
			Suggestion: "write allow_duplicate: true if that is meant",
		}}
	}
	return nil
}
