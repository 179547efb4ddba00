package article

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextKeepsWhatTheAuthorWrote(t *testing.T) { // B58
	for body, want := range map[string]string{
		`"a" -- (c) ... it's`:       `"a" -- (c) ... it's`,
		"a_b_c ＂全角＂ “q” 1. x":       "a_b_c ＂全角＂ “q” 1. x",
		"1\\. not a list":           "1. not a list",
		"1. \n2. b":                 "1. \n2. b",
		"3. c\n4. d\n\n   d2\n5. e": "3. c\n4. d\n\n   d2\n5. e",
		"a\n\nb\nc\\\nd":            "a\n\nb c\nd",
		"中文\n换行":                    "中文换行",
		"一，\n二。\n“三”\n**四**\nfive,\nsix，\n7":                "一，二。“三”四 five, six， 7",
		"[link](https://e.com) https://e.com/x":             "link https://e.com/x",
		"a &lt;b&gt; \\<c> <i>d</i> `<e>`":                  "a <b> <c> d <e>",
		"- a\n  - b\n    - c\n- d":                          "- a\n  - b\n    - c\n- d",
		"```\n\ta\n\n  b\n```":                              "\ta\n\n  b",
		"- x\n\n  ```\n  a\n\n  b\n  ```":                   "- x\n\n  a\n\n  b",
		"![alt](https://e.com/a.png)text":                   "text",
		"<script>x</script>\n\n<style>y</style>\n\nz":       "z",
		"| a | b |\n|---|---|\n| 1 | 2 |":                   "a | b\n1 | 2",
		"x[^n] y\n\n[^n]: note":                             "x[1] y\n\n1. note",
		"| | b |\n|---|---|\n| 1 | ![x](y) |\n| *3*  | 4 |": "b\n1\n3 | 4",
		"a *b*\n**c** d":                                    "a b c d",
		"> q\n>\n> r":                                       "q\n\nr",
		"# A\ntext":                                         "A\n\ntext",
	} {
		wantEqual(t, body, (&Article{Body: body}).Text(), want)
	}
}

func TestTextOfDeeplyNestedHTMLIsNotLost(t *testing.T) {
	a := mustLoadText(t, "# T\n\n"+strings.Repeat("<b>", 600)+"a &amp; b\n", Options{})
	wantEqual(t, "text", a.Text(), "a & b")
}

func TestExcerptEndsAtASensibleBorder(t *testing.T) {
	const family = "👨‍👩‍👧‍👦"
	for _, tc := range []struct {
		body string
		n    int
		want string
	}{
		{"short text", 10, "short text"},
		{"two\n\nparagraphs", 20, "two paragraphs"},
		{"one two three four", 12, "one two…"},
		{"一二三四五，六七八九十", 7, "一二三四五…"},
		{"一二三四五六七八九十", 6, "一二三四五…"},
		{"他说：（好的）。然后走了", 5, "他说…"},
		{strings.Repeat("x", 50), 10, strings.Repeat("x", 9) + "…"},
		{"ab" + family + "cd" + family, 8, "ab…"},
		{family + "abcdefgh", 5, ""},
		{"e\u0301e\u0301e\u0301e\u0301", 4, "e\u0301…"},
		{"text", 0, ""},
		{"text", -1, ""},
		{"", 10, ""},
	} {
		got := (&Article{Body: tc.body}).Excerpt(tc.n)
		wantEqual(t, tc.body, got, tc.want)
		if utf8.RuneCountInString(got) > max(tc.n, 0) {
			t.Errorf("excerpt %q has more than %d characters", got, tc.n)
		}
	}
	wantEqual(t, "summary", (&Article{Body: "text", Summary: "a longer summary"}).Excerpt(3), "a longer summary")
}
