package article

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// picture returns a PNG; each shade has other bytes.
func picture(t testing.TB, shade uint8) string {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 1, 1))
	img.SetGray(0, 0, color.Gray{shade})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// tree writes files, by path, into a new folder and returns it.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// loadText loads text as the file a.md of an otherwise empty queue.
func loadText(t testing.TB, text string, o Options) (*Article, error) {
	t.Helper()
	o.Root = tree(t, map[string]string{"a.md": text})
	return Load(filepath.Join(o.Root, "a.md"), o)
}

func mustLoad(t testing.TB, path string, o Options) *Article {
	t.Helper()
	a, err := Load(path, o)
	if err != nil {
		t.Fatalf("Load(%s): %v", path, err)
	}
	return a
}

func mustLoadText(t testing.TB, text string, o Options) *Article {
	t.Helper()
	a, err := loadText(t, text, o)
	if err != nil {
		t.Fatalf("Load: %v\n%s", err, text)
	}
	return a
}

// wantProblem checks that err is exactly one problem with that rule and line
// whose message holds every one of the texts.
func wantProblem(t testing.TB, err error, rule string, line int, texts ...string) {
	t.Helper()
	ps, ok := err.(Problems) //nolint:errorlint // Load promises the type itself
	if !ok {
		t.Fatalf("error = %v (%T), want Problems", err, err)
	}
	if len(ps) != 1 || ps[0].Rule != rule || ps[0].Line != line {
		t.Fatalf("problems = %v (rule %s, line %d), want one of rule %s on line %d",
			ps, ps[0].Rule, ps[0].Line, rule, line)
	}
	for _, text := range texts {
		if !strings.Contains(ps[0].Error(), text) {
			t.Errorf("message %q does not say %q", ps[0], text)
		}
	}
	if ps[0].Fix == "" || ps[0].File == "" {
		t.Errorf("problem %+v names no file or no remedy", ps[0])
	}
}

func wantEqual(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
