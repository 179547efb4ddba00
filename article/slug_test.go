package article

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestSlugKeepsLettersAndDigitsOfAnyScript(t *testing.T) {
	for name, want := range map[string]string{
		"Error Handling!":        "error-handling",
		"错误处理：系统韧性（一）":           "错误处理-系统韧性-一",
		"  --a__b..c/d\\e  ":     "a-b-c-d-e",
		"../../etc/passwd":       "etc-passwd",
		"Ünïcode e\u0301":        "ünïcode-é",
		"हिन्दी":                 "हिन्दी",
		"2026-06-17 v1.2":        "2026-06-17-v1-2",
		"C++":                    "c",
		"":                       "article-" + shortHash(""),
		"🚀":                      "article-" + shortHash("🚀"),
		"..":                     "article-" + shortHash(".."),
		"\u0301":                 "article-" + shortHash("\u0301"),
		"a\xff\x00b":             "a-b",
		strings.Repeat("a", 100): strings.Repeat("a", 100),
	} {
		wantEqual(t, name, Slug(name), want)
	}
	long := Slug(strings.Repeat("错", 120))
	other := Slug(strings.Repeat("错", 119) + "对")
	if long == other {
		t.Errorf("two long names have one slug: %s", long)
	}
}

func TestSlugIsAlwaysAnIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		slug := Slug(name)
		if !isID(slug) || utf8.RuneCountInString(slug) > 100 || len(slug) > 200 || strings.ContainsAny(slug, `/\.`) {
			t.Fatalf("Slug(%q) = %q", name, slug)
		}
		if again := Slug(slug); again != slug {
			t.Fatalf("Slug(%q) = %q, not itself", slug, again)
		}
	})
}
