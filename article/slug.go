package article

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A slug becomes a file name, which most file systems limit to 255 bytes; what
// is put before and behind it needs room too.
const (
	maxSlugRunes = 100
	maxSlugBytes = 200
)

// Slug turns a name into an identity: its letters and digits, of any script and
// in lower case, joined by "-". It has at most 100 characters, is never empty
// and is safe as one element of a path. A name that is cut ends in a hash of
// the whole, so that two long names stay two identities.
func Slug(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(norm.NFC.String(name)) {
		// A mark belongs to the letter before it, as vowels do in Devanagari.
		part := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) && b.Len() > 0 && !gap
		if !part {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		gap = false
		b.WriteRune(r)
	}
	slug := b.String()
	switch {
	case slug == "":
		return "article-" + shortHash(name)
	case utf8.RuneCountInString(slug) > maxSlugRunes || len(slug) > maxSlugBytes:
		hash := "-" + shortHash(slug)
		return strings.TrimRight(truncate(slug, maxSlugRunes-len(hash), maxSlugBytes-len(hash)), "-") + hash
	default:
		return slug
	}
}

// truncate returns the longest beginning of s that has at most so many runes
// and bytes.
func truncate(s string, runes, bytes int) string {
	n := 0
	for i, r := range s {
		if n == runes || i+utf8.RuneLen(r) > bytes {
			return s[:i]
		}
		n++
	}
	return s
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

// isID reports whether s can be an identity as it is: letters, digits, "-" and
// "_", not longer than a slug.
func isID(s string) bool {
	if s == "" || utf8.RuneCountInString(s) > maxSlugRunes || len(s) > maxSlugBytes {
		return false
	}
	for i, r := range s {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
		case i > 0 && (r == '-' || unicode.IsMark(r)):
		default:
			return false
		}
	}
	return true
}
