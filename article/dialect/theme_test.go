package dialect

import (
	"slices"
	"strings"
	"testing"
)

func TestThereAreThreeThemesWithoutFault(t *testing.T) {
	if got := Themes(); !slices.Equal(got, []string{"default", "ink", "jade"}) {
		t.Errorf("themes %q", got)
	}
	for _, name := range append(Themes(), "") {
		theme, err := NewTheme(name, "")
		if err != nil {
			t.Errorf("theme %q: %v", name, err)
		} else if theme.Warnings() != nil {
			t.Errorf("theme %q: %q", name, theme.Warnings())
		}
	}
}

func TestOwnCSSLiesOnTopOfTheTheme(t *testing.T) {
	for _, tc := range []struct{ css, body, want string }{
		{"p { color: red }", "a", `<p style="margin:1em 0;color:red">`},
		{"p { margin: 0; MARGIN-TOP: 1px }", "a", `<p style="margin:0;margin-top:1px">`},
		{"p { margin: 0 !important } p { margin: 2px }", "a", `<p style="margin:0">`},
		{"article > p { color: red } p { color: blue }", "a", `<p style="margin:1em 0;color:red">`},
		{"p, h2 { color: red }", "## a", `color:red">a</h2>`},
		{"ul > li { color: red }", "- a", `<section style="padding-left:1.4em;color:red">`},
		{"h2 + p { color: red }", "## a\n\nb", `<p style="margin:1em 0;color:red">`},
		{".callout.note { color: red }", "> [!NOTE]\n> a", `color:red"><p`},
		{"[align] { color: red }", "<p align=left>a</p>", `color:red;text-align:left">`},
		{"p:first-child { color: red }", "a", `color:red">`},
		{"* { color: red }", "a", `<p style="color:red;margin:1em 0">`},
		{"p { font-family: \"A B\", 'C' }", "a", `font-family:&quot;A B&quot;,'C'">`},
		{"article { --code-style: monokai }", "```go\nreturn\n```", `background:#272822`},
		{"article { --code-style: monokai } pre { background: #fff }", "```go\nreturn\n```", `background:#fff`},
		{"kbd { color: red }", "<kbd>a</kbd>", `color:red">a</span>`},
	} {
		theme, err := NewTheme("ink", tc.css)
		if err != nil {
			t.Fatalf("%s: %v", tc.css, err)
		}
		if theme.Warnings() != nil {
			t.Errorf("%s: warnings %q", tc.css, theme.Warnings())
		}
		if got := weChat(t, tc.body, WeChatOptions{Theme: theme}).HTML; !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s has no %s", tc.css, got, tc.want)
		}
	}
}

func TestCSSThatHasNoInlineFormIsLeftOutAloud(t *testing.T) {
	for _, css := range []string{
		"@media print { p { color: red } }", "@import 'x.css';", "@font-face { font-family: x }",
		"p::before { content: 'x' }", "p:hover { color: red }", "p { color: var(--x) }", ":root { --x: red }",
	} {
		theme, err := NewTheme("", css)
		if err != nil {
			t.Errorf("%s: %v", css, err)
			continue
		}
		if len(theme.Warnings()) != 1 || !strings.Contains(theme.Warnings()[0], "is left out") {
			t.Errorf("%s: warnings %q, want one", css, theme.Warnings())
		}
		want := weChat(t, "a", WeChatOptions{}).HTML
		wantEqual(t, css, weChat(t, "a", WeChatOptions{Theme: theme}).HTML, want)
	}
}

func TestFaultyThemesAreRefused(t *testing.T) {
	for _, tc := range []struct{ name, css, want string }{
		{"no-such", "", `no theme "no-such": there are default, ink, jade`},
		{"base", "", `no theme "base"`},
		{"", "p { color", "read CSS"},
		{"", "p color: red }", "read CSS"},
		{"", "article { --code-style: no-such }", `no code style "no-such"`},
	} {
		if _, err := NewTheme(tc.name, tc.css); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("NewTheme(%q, %q): %v, want %q", tc.name, tc.css, err, tc.want)
		}
	}
}
