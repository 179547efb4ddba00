package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// faults gathers what is wrong, one fault a key: what follows from a first
// fault would only hide it.
type faults struct {
	file  string            // as the person named it; empty: none
	lines map[string]int    // key → line of the file
	env   map[string]string // key → variable that sets it
	alias map[string]string // key → the key that its value comes from
	list  []fault
}

type fault struct {
	key  string
	line int
	text string
}

// add records a fault of the value of key.
func (f *faults) add(key, format string, args ...any) {
	if source, ok := f.alias[key]; ok {
		key = source
	}
	text := fmt.Sprintf(format, args...)
	if key != "" {
		text = key + ": " + text
	}
	f.record(key, text)
}

// unknown records a key that nothing reads, with what was probably meant.
func (f *faults) unknown(key, hint string) {
	f.record(key, "unknown key "+key+"; "+hint)
}

func (f *faults) record(key, text string) {
	if slices.ContainsFunc(f.list, func(o fault) bool { return o.key == key && (key != "" || o.text == text) }) {
		return
	}
	line := f.line(key)
	switch variable := f.env[key]; {
	case variable != "":
		line, text = 0, variable+": "+text
	case line > 0:
		text = fmt.Sprintf("%s:%d: %s", f.file, line, text)
	case f.file != "":
		text = f.file + ": " + text
	}
	f.list = append(f.list, fault{key, line, text})
}

// line returns the line of key, or of the nearest section around it.
func (f *faults) line(key string) int {
	for key != "" {
		if n := f.lines[key]; n > 0 {
			return n
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return 0
}

// err joins the faults in the order of the file.
func (f *faults) err() error {
	slices.SortStableFunc(f.list, func(a, b fault) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.key, b.key))
	})
	errs := make([]error, len(f.list))
	for i, fault := range f.list {
		errs[i] = errors.New(fault.text)
	}
	return errors.Join(errs...)
}

// Nearest returns the one of known that word was probably meant to be; empty if
// none is near. Of those equally near it prefers one with the same first letter.
func Nearest(word string, known []string) string {
	best, limit := "", 2*(1+min(3, max(1, len(word)/4)))
	for _, k := range known {
		d := 2 * levenshtein.ComputeDistance(word, k)
		if swapped(word, k) {
			d = 2 // to Levenshtein it is two changes
		}
		if word != "" && k != "" && word[0] != k[0] {
			d++
		}
		if d < limit {
			best, limit = k, d
		}
	}
	return best
}

// swapped reports whether b is a with two neighbouring bytes swapped.
func swapped(a, b string) bool {
	for i := range max(0, len(a)-1) {
		if a[:i]+a[i+1:i+2]+a[i:i+1]+a[i+2:] == b {
			return true
		}
	}
	return false
}

// hint says what key, unknown among the keys of known, was probably meant to
// be, or what its section takes.
func hint(key, shown string, known []string) string {
	parent, word := split(key)
	var siblings, elsewhere []string
	for _, k := range sections(known) {
		switch p, last := split(k); {
		case p == parent:
			siblings = append(siblings, strings.TrimSuffix(last, "[]"))
		case last == word:
			elsewhere = append(elsewhere, k)
		}
	}
	shownParent, _ := split(shown)
	if near := Nearest(word, siblings); near != "" {
		return "did you mean " + join(shownParent, near) + "?"
	}
	if above, ok := strings.CutSuffix(shown, key); ok && len(elsewhere) == 1 {
		return "did you mean " + above + elsewhere[0] + "?"
	}
	return "possible here: " + strings.Join(siblings, ", ")
}

// sections returns known and, before its first key, every section around it.
func sections(known []string) []string {
	var all []string
	for _, k := range known {
		for i, r := range k + "." {
			if r == '.' && !slices.Contains(all, k[:i]) {
				all = append(all, k[:i])
			}
		}
	}
	return all
}

func split(key string) (parent, last string) {
	i := strings.LastIndexByte(key, '.')
	return key[:max(0, i)], key[i+1:]
}

func join(parent, key string) string {
	if parent == "" {
		return key
	}
	return parent + "." + key
}

func element(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }
