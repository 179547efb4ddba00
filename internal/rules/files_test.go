package rules

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines is how long a file may be that is no test.
const maxLines = 400

// long are the files that may be longer, each with its reason.
var long = map[string]string{
	"state/statetest/statetest.go": "a suite: one short function for each promise of a store",
}

// unfinished are the words that mark work left over.
var unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK|WIP)\b`)

func TestFilesKeepTheRules(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir // as the go command does
		}
		if d.IsDir() || filepath.Ext(file) != ".go" {
			return nil
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		seen++
		for _, fault := range fileFaults(filepath.ToSlash(name), src) {
			t.Error(fault)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Fatalf("there is no Go file below %s", root)
	}
}

func TestEveryLongFileIsThereAndLong(t *testing.T) {
	for name := range long {
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
		} else if lines(src) <= maxLines {
			t.Errorf("%s has no more than %d lines now: remove it from the list", name, maxLines)
		}
	}
}

func TestAFileAgainstTheRulesIsFound(t *testing.T) {
	const plain = "package p\n"
	for _, tt := range []struct {
		name, file, src string
		faults          int
	}{
		{"plain", "p/p.go", plain, 0},
		{"too long", "p/p.go", plain + strings.Repeat("\n", maxLines), 1},
		{"a long test", "p/p_test.go", plain + strings.Repeat("\n", maxLines), 0},
		{"a long file with a reason", "state/statetest/statetest.go", plain + strings.Repeat("\n", maxLines), 0},
		{"a mark in a comment", "p/p.go", plain + "// TO" + "DO: the rest.\n", 1},
		{"a mark behind code", "p/p.go", plain + "var x int /* FIX" + "ME */\n", 1},
		{"a mark in a string", "p/p.go", plain + "const x = \"TO" + "DO\"\n", 0},
		{"a sleep", "p/p.go", plain + "import \"time\"\nfunc f() { time.Sleep(1) }\n", 1},
		{"a sleep under another name", "p/p.go", plain + "import zeit \"time\"\nvar sleep = zeit.Sleep\n", 1},
		{"a tick", "p/p.go", plain + "import \"time\"\nvar c = time.Tick(1)\n", 1},
		{"a sleep of something else", "p/p.go", plain + "import time \"p/time\"\nfunc f() { time.Sleep(1) }\n", 0},
		{"a sleep in a test", "p/p_test.go", plain + "import \"time\"\nfunc f() { time.Sleep(1) }\n", 1},
		{"a sleep in a bubble", "p/p_test.go", plain + "import (\n\"testing/synctest\"\n\"time\"\n)\nfunc f() { synctest.Wait(); time.Sleep(1) }\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if faults := fileFaults(tt.file, []byte(tt.src)); len(faults) != tt.faults {
				t.Errorf("got %q, want %d faults", faults, tt.faults)
			}
		})
	}
}

// fileFaults returns what is wrong with a file.
func fileFaults(name string, src []byte) []string {
	var faults []string
	if n := lines(src); n > maxLines && !strings.HasSuffix(name, "_test.go") && long[name] == "" {
		faults = append(faults, fmt.Sprintf("%s has %d lines: split it, or add it to long with the reason", name, n))
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return append(faults, err.Error())
	}
	for _, group := range file.Comments {
		if mark := unfinished.FindString(group.Text()); mark != "" {
			faults = append(faults, fmt.Sprintf("%v: %s: finish it", fset.Position(group.Pos()), mark))
		}
	}
	// In the bubble of a synctest the time is not real, and a sleep lets it pass.
	if imported(file, "testing/synctest") != "" {
		return faults
	}
	clock := imported(file, "time")
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"Sleep", "Tick"}, s.Sel.Name) {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == clock {
				faults = append(faults, fmt.Sprintf("%v: time.%s: select on a context, or wait for an event", fset.Position(s.Pos()), s.Sel.Name))
			}
		}
		return true
	})
	return faults
}

// imported returns the name that a file calls a package by, empty if it does not
// import it.
func imported(file *ast.File, path string) string {
	for _, i := range file.Imports {
		if i.Path.Value != `"`+path+`"` {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return filepath.Base(path)
	}
	return ""
}

func lines(src []byte) int { return bytes.Count(src, []byte("\n")) }
