// Package picture makes a picture fit what a platform takes: it decodes, turns
// upright, scales and converts, and drops what a camera wrote into the file. The
// same source and limit give the same bytes.
//
// It reads no file and makes no network call, keeps no animation that it would
// have to change, ignores colour profiles, and knows no platform: its limits are
// the caller's.
package picture

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Limit is what a platform takes. A field that is zero is no limit.
type Limit struct {
	// Types are the media types that it takes, best first. A picture of another
	// type becomes the first of them that can be written, image/png or
	// image/jpeg, and the next one where that does not fit. A photograph becomes
	// JPEG, if that is among them.
	Types []string
	// MaxBytes is the most that it takes: for "less than 1 MB", one byte less.
	MaxBytes int64
	// MaxWidth, MaxHeight and MaxPixels are in pixels. What is larger is scaled.
	MaxWidth, MaxHeight, MaxPixels int
	// MinWidth is how narrow scaling may make a picture, in pixels. One that is
	// so tall that nobody could read it any more is refused.
	MinWidth int
	// Animated says that it shows animations. Elsewhere, and where an animation
	// is too large, the first picture stands for the whole.
	Animated bool
	// Fonts are font files (TrueType or OpenType) for text in an SVG. The
	// built-in font comes after them and has Latin, Greek and Cyrillic.
	Fonts [][]byte
}

// takes reports whether a media type is one of the platform's.
func (l Limit) takes(mediaType string) bool {
	return len(l.Types) == 0 || slices.Contains(l.Types, mediaType)
}

// takesSize reports whether nothing is larger than the platform takes.
func (l Limit) takesSize(width, height, bytes int) bool {
	return (l.MaxBytes == 0 || int64(bytes) <= l.MaxBytes) &&
		(l.MaxWidth == 0 || width <= l.MaxWidth) &&
		(l.MaxHeight == 0 || height <= l.MaxHeight) &&
		(l.MaxPixels == 0 || width*height <= l.MaxPixels)
}

// Picture is a picture that fits.
type Picture struct {
	// Name is a file name in ASCII with the extension of the type. It is made
	// from the given name and need not be unique.
	Name string
	// Type is the media type of Data.
	Type string
	Data []byte
	// Width and Height are as shown, in pixels; zero for an SVG that was kept.
	Width, Height int
	// SHA256 is the hash of Data in hex.
	SHA256 string
	// Changed says that Data are not the bytes that were given.
	Changed bool
	// Notes say for people what was done to the picture.
	Notes []string
}

// Rule is a short stable id of what is wrong with a picture.
type Rule string

// The rules.
const (
	RuleEmpty       Rule = "picture-empty"       // it has 0 bytes
	RuleNoPicture   Rule = "picture-none"        // it is something else
	RuleUnsupported Rule = "picture-unsupported" // it is of a type, or holds what, cannot be decoded or written
	RuleDamaged     Rule = "picture-damaged"     // it cannot be decoded
	RuleTooCostly   Rule = "picture-too-costly"  // it would take too much memory or time
	RuleTooLarge    Rule = "picture-too-large"   // it cannot be made to fit
)

// Error says what is wrong with one picture. It is about the content: the same
// picture fails again.
type Error struct {
	Name string // as given
	Rule Rule
	// What is wrong, and Fix what to do about it.
	What, Fix string
	Err       error // the cause, if there is one
}

// Error says picture, fault and remedy in one line.
func (e *Error) Error() string {
	what := e.What
	if e.Err != nil {
		what += " (" + e.Err.Error() + ")"
	}
	return fmt.Sprintf("picture %q %s; %s", e.Name, what, e.Fix)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Fit makes the picture src fit the limit. One that fits already is returned
// byte for byte, unless it lies on its side or tells where it was taken. The
// type is found by content; the name is for messages and for the result's name.
// The error is an *[Error]. With the largest pictures it needs about 1 GB of
// memory for a moment, so the caller bounds how many it fits at once.
func Fit(src []byte, name string, l Limit) (Picture, error) {
	s, err := read(src, name)
	if err != nil {
		return Picture{}, err
	}
	if s.fits(l) {
		return s.picture(s.mediaType, src, s.width, s.height), nil
	}
	types := s.targets(l)
	if len(types) == 0 {
		return Picture{}, s.fail(RuleUnsupported, "is "+label(s.mediaType)+", which the platform does not take, and cannot be converted to "+
			labels(l.Types), "convert it by hand")
	}
	img, err := s.decode(l)
	if err != nil {
		return Picture{}, err
	}
	return s.shrink(img, types, l)
}

// fits reports whether the source can stay as it is.
func (s *source) fits(l Limit) bool {
	return l.takes(s.mediaType) && l.takesSize(s.width, s.height, len(s.data)) && s.upright() && !s.located && !s.cmyk &&
		(s.frames <= 1 || l.Animated && s.frames*s.width*s.height <= maxAnimation)
}

// targets are the media types that the source may be converted to, in order.
func (s *source) targets(l Limit) []string {
	types := slices.DeleteFunc(slices.Clone(l.Types), func(t string) bool { return t != typePNG && t != typeJPEG })
	if len(l.Types) == 0 {
		types = []string{typePNG, typeJPEG}
	}
	if s.lossy {
		slices.SortStableFunc(types, func(a, _ string) int {
			if a == typeJPEG {
				return -1
			}
			return 1
		})
	}
	return types
}

func (s *source) picture(mediaType string, data []byte, width, height int) Picture {
	sum := sha256.Sum256(data)
	return Picture{
		Name: fileName(s.name, mediaType), Type: mediaType, Data: data, Width: width, Height: height,
		SHA256: hex.EncodeToString(sum[:]), Notes: s.notes,
	}
}

func (s *source) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

func (s *source) fail(rule Rule, what, fix string) *Error {
	return &Error{Name: s.name, Rule: rule, What: what, Fix: fix}
}

// fileName makes an ASCII file name: some platforms, and many gateways, garble
// any other.
func fileName(name, mediaType string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		name = name[:dot]
	}
	words := strings.FieldsFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_'
	})
	base := strings.Join(words, "-")
	if base == "" {
		base = "image"
	}
	return base[:min(len(base), 80)] + formats[mediaType].extension
}
