package article

import (
	"strings"
	"testing"
)

var seeds = []string{
	"# T\n\ntext\n",
	"---\ntitle: T\ntags: [a]\nblog: {cover: x}\n---\n![a](https://e.com/a.png)\n",
	"\uFEFF\r\n---\r\ntitle: T\r\n---\r\n> ![a][l]\r\n\r\n[l]: https://e.com/(x) 't'\r\n",
	"# T\n\n<img src=https://e.com/a.png>\n\n| a |\n|-|\n| ![](https://e.com/b.png) |\n",
	"T\n=\n\n- ![](<https://e.com/a b.png> \"t\")\n\n  ```\n  x\n",
	"---\na: &a [*a]\n<<: *a\n---\n",
	"---\n? [a]\n: b\n---\nx[^1]\n\n[^1]: ![](http://e.com/x)\n",
	"# T\n\n![[a.png|300]] ![[b]](c) **“注意”**请\n",
	"---\ntitle: !!binary x\ndate: 2026-01-01\n--- x\n---\n",
}

// FuzzLoad checks that no input makes Load panic, that problems have a line and
// a remedy, and that an article that loads is rewritten to itself.
func FuzzLoad(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := loadText(t, text, Options{Name: "a.md"})
		if err != nil {
			ps, ok := err.(Problems) //nolint:errorlint // Load promises the type itself
			if !ok {
				t.Fatalf("error = %v (%T), want Problems", err, err)
			}
			last := 1 + strings.Count(text, "\n") + strings.Count(text, "\r")
			for _, p := range ps {
				if p.Line < 0 || p.Line > last || p.File == "" || p.Rule == "" || p.What == "" || p.Fix == "" {
					t.Fatalf("problem %+v, want a line up to %d and every text", p, last)
				}
			}
			return
		}
		// An embed becomes an ordinary image even if its name stays.
		if got := a.Markdown(func(im Image) string { return im.Ref }); got != a.Body && !strings.Contains(a.Body, "![[") {
			t.Fatalf("Markdown = %q, want %q", got, a.Body)
		}
		if _, err := a.HTML(HTMLOptions{}); err != nil {
			t.Fatal(err)
		}
		if a.Title == "" || a.ID == "" || a.Hash == "" || a.Fingerprint == "" {
			t.Fatalf("article %+v lacks something", a)
		}
	})
}

// FuzzMarkdown checks that what Markdown writes has the new destination in every
// place where the body named an image.
func FuzzMarkdown(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if invalidAt(body) >= 0 || strings.ContainsAny(body, "\r\x00") {
			t.Skip("Load gives no such body")
		}
		a := &Article{Body: body}
		before := parseMarkdown(body).references
		for _, r := range before {
			a.Images = append(a.Images, Image{Ref: r.ref})
		}
		const dest = "https://example.com/i.png"
		after := parseMarkdown(a.Markdown(func(Image) string { return dest })).references
		if len(after) != len(before) {
			t.Fatalf("%d images became %d", len(before), len(after))
		}
		for _, r := range after {
			if r.ref != dest {
				t.Fatalf("an image is named %q, want %q", r.ref, dest)
			}
		}
	})
}
