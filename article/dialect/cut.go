package dialect

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// Cut returns s if it counts at most limit, else its beginning, cut behind a
// sentence, else where a line may be broken, else between two characters as a
// reader sees them; and always before an address rather than inside it. A cut that
// ends no sentence is marked with "…", which counts. Empty if nothing fits.
func Cut(s string, limit int, count Count) string {
	if count(s) <= limit {
		return s
	}
	if cut := prefix(s, limit, count, "", uniseg.FirstSentenceInString); 2*count(cut) >= limit {
		return cut
	}
	cut := prefix(s, limit, count, "…", firstLineSegment)
	if 2*count(cut) < limit { // one long word
		cut = prefix(s, limit, count, "…", firstCluster)
	}
	cut = strings.TrimRightFunc(cut, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:，、；：", r) })
	if cut == "" {
		return ""
	}
	return cut + "…"
}

var address = regexp.MustCompile(`https?://[!-~]+`)

// prefix returns the most leading pieces of s that count at most limit together
// with end, without white space behind them.
func prefix(s string, limit int, count Count, end string, next func(string, int) (piece, rest string, state int)) string {
	addresses := address.FindAllStringIndex(s, -1)
	best, at, state := 0, 0, -1
	for rest := s; rest != ""; {
		var piece string
		piece, rest, state = next(rest, state)
		at += len(piece)
		if count(strings.TrimRightFunc(s[:at], unicode.IsSpace)+end) > limit {
			break
		}
		if !inside(addresses, at) {
			best = at
		}
	}
	return strings.TrimRightFunc(s[:best], unicode.IsSpace)
}

// inside reports whether offset at lies within one of the ranges.
func inside(ranges [][]int, at int) bool {
	for _, r := range ranges {
		if r[0] < at && at < r[1] {
			return true
		}
	}
	return false
}

func firstLineSegment(s string, state int) (segment, rest string, newState int) {
	segment, rest, _, newState = uniseg.FirstLineSegmentInString(s, state)
	return segment, rest, newState
}

func firstCluster(s string, state int) (cluster, rest string, newState int) {
	cluster, rest, _, newState = uniseg.FirstGraphemeClusterInString(s, state)
	return cluster, rest, newState
}
