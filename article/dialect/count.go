package dialect

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Count measures text as a platform does.
type Count func(string) int

// Characters counts code points, as WeChat does for titles, digests and authors.
func Characters(s string) int { return utf8.RuneCountInString(s) }

// Units counts as Xiaohongshu does for titles: a UTF-16 code unit above 127 is one
// unit and any other half a unit; the sum is rounded up. An emoji outside the basic
// plane has two.
func Units(s string) int {
	halves := 0
	for _, unit := range utf16.Encode([]rune(s)) {
		halves++
		if unit > 127 {
			halves++
		}
	}
	return (halves + 1) / 2
}

// CodeUnits counts UTF-16 code units, as the text boxes of web pages do.
func CodeUnits(s string) int { return len(utf16.Encode([]rune(s))) }

// HalfWidth counts as Weibo does: an ASCII character is half of one, any other
// character one; the sum is rounded up. An address has its real length.
func HalfWidth(s string) int {
	halves := 0
	for _, r := range s {
		halves++
		if r > unicode.MaxASCII {
			halves++
		}
	}
	return (halves + 1) / 2
}

// Clean removes what platforms show as rubbish or refuse: invalid UTF-8, control
// characters but for line feed and tab, and the line and paragraph separators
// U+2028 and U+2029, which JSON encoders escape.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// CleanTags returns the first limit tags as platforms take them: without "#",
// without white space, each once whatever its case. dropped are the tags that were
// over the limit.
func CleanTags(tags []string, limit int) (clean, dropped []string) {
	seen := map[string]bool{}
	for _, tag := range tags {
		tag = strings.Map(func(r rune) rune {
			if r == '#' || r == '＃' || unicode.IsSpace(r) {
				return -1
			}
			return r
		}, Clean(tag))
		switch {
		case tag == "" || seen[strings.ToLower(tag)]:
			continue
		case len(clean) < limit:
			clean = append(clean, tag)
		default:
			dropped = append(dropped, tag)
		}
		seen[strings.ToLower(tag)] = true
	}
	return clean, dropped
}
