package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLinesBreakWhereAReaderExpectsIt(t *testing.T) {
	tests := []struct {
		name, text string
		width      int
		want       []string
	}{
		{"short text stays", "a b", 10, []string{"a b"}},
		{"no text is one line", "", 10, []string{""}},
		{"without a terminal nothing breaks", "a b c d", 0, []string{"a b c d"}},
		{"between words", "one two three", 8, []string{"one two", "three"}},
		{"between Chinese characters", "错误处理是设计", 8, []string{"错误处理", "是设计"}},
		{"an odd width leaves a column", "错误处理", 5, []string{"错误", "处理"}},
		{"not before Chinese punctuation", "错误处理，设计", 8, []string{"错误处", "理，设计"}},
		{"between Chinese and Latin", "接口draft返回错误", 10, []string{"接口draft", "返回错误"}},
		{"a command stays whole", "then `herald retry a` again", 20, []string{"then", "`herald retry a`", "again"}},
		{"a command wider than a line breaks", "run `herald retry article` now", 12, []string{"run `herald", "retry", "article` now"}},
		{"an address stays whole", "see https://example.com/a/b/c now", 10, []string{"see", "https://example.com/a/b/c", "now"}},
		{"a lone backquote is no command", "a ` b c", 4, []string{"a `", "b c"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := wrap(tt.text, tt.width)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("wrap(%q, %d) (-want +got):\n%s", tt.text, tt.width, diff)
			}
			squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
			if squeeze(strings.Join(got, "")) != squeeze(tt.text) {
				t.Errorf("%q has lost something: %q", tt.text, got)
			}
		})
	}
}

func FuzzWrappingLosesNothing(f *testing.F) {
	f.Add("错误 `herald retry a`，b https://x/` y", 7)
	f.Fuzz(func(t *testing.T, text string, width int) {
		text = oneLine(text)
		got := wrap(text, width%200)
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if squeeze(strings.Join(got, "")) != squeeze(text) {
			t.Errorf("wrap(%q, %d) = %q", text, width%200, got)
		}
	})
}

func TestWidthsDoNotDependOnTheLocale(t *testing.T) {
	for text, want := range map[string]int{"架构": 4, "“架构”": 6, "a…": 2, "→": 1, "é": 1, "📝": 2, "，": 2} {
		if got := columns.StringWidth(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
	if got := cut("错误处理是系统韧性的设计", 10); got != "错误处理…" {
		t.Errorf("cut to 10 columns is %q", got)
	}
}

func TestTimesAreToldInTheZoneAndRelative(t *testing.T) {
	s := screen{zone: noon.Location(), now: noon}
	tests := []struct {
		after time.Duration
		want  string
	}{
		{0, "12:00 (now)"},
		{900 * time.Millisecond, "12:00 (now)"},
		{8 * time.Minute, "12:08 (in 8 min)"},
		{-40 * time.Second, "11:59 (40 s ago)"},
		{89 * time.Second, "12:01 (in 89 s)"},
		{90 * time.Minute, "13:30 (in 2 h)"},
		{-3 * time.Hour, "09:00 (3 h ago)"},
		{-13 * time.Hour, "06-16 23:00 (13 h ago)"},
		{47 * time.Hour, "06-19 11:00 (in 47 h)"},
		{72 * time.Hour, "06-20 12:00 (in 3 days)"},
		{-365 * 24 * time.Hour, "2025-06-17 12:00 (365 days ago)"},
	}
	for _, tt := range tests {
		if got := s.when(noon.Add(tt.after).UTC()); got != tt.want {
			t.Errorf("%s after noon is told as %q, want %q", tt.after, got, tt.want)
		}
	}
	s.width = 60
	if got := s.next(noon.Add(8 * time.Minute)); got != "in 8 min" {
		t.Errorf("on a narrow terminal it is told as %q", got)
	}
	if got := s.next(noon.Add(-time.Minute)); got != "now" {
		t.Errorf("what is overdue is told as %q, want now", got)
	}
}

func TestAMessageCannotSteerTheTerminal(t *testing.T) {
	if got, want := oneLine("a\x1b[2J\n b\u0085\u009b31mc\x07"), "a[2J b 31mc"; strings.ContainsAny(got, "\x1b\x07\u009b") {
		t.Errorf("oneLine returns %q, want %q", got, want)
	}
}

func TestAFrameReplacesTheOneBeforeWithoutClearingFirst(t *testing.T) {
	if got, want := frame("a\nb\n", 80, 10), "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J"; got != want {
		t.Errorf("frame is %q, want %q", got, want)
	}
}

func TestAFrameIsNeverTallerThanTheTerminal(t *testing.T) {
	long := strings.Repeat("x", 25) // three rows of ten columns
	tests := []struct {
		name, text string
		more       string // what it says is left out
	}{
		{"it just fits", strings.Repeat("line\n", 9), ""},
		{"it does not", strings.Repeat("line\n", 30), "… 22 more"},
		{"long lines just fit", strings.Repeat(long+"\n", 3), ""},
		{"long lines do not", strings.Repeat(long+"\n", 4), "… 2 more"},
		{"colour takes no room", strings.Repeat("\x1b[31m1234567890\x1b[0m\n", 9), ""},
		{"Chinese takes two columns", strings.Repeat("错误处理错误\n", 5), "… 1 more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := frame(tt.text, 10, 10)
			if strings.Contains(got, "more") != (tt.more != "") || !strings.Contains(got, tt.more) {
				t.Errorf("frame is %q, want it to say %q", got, tt.more)
			}
			rows := 0
			for line := range strings.Lines(strings.TrimSuffix(strings.TrimPrefix(got, toTop), clearBeyond)) {
				line = painting.ReplaceAllString(strings.TrimSuffix(line, clearRight+"\n"), "")
				rows += max(1, (columns.StringWidth(line)+9)/10)
			}
			if rows > 9 {
				t.Errorf("frame takes %d rows of 10, and the cursor one more", rows)
			}
		})
	}
}

func TestAddressesAreToldInReadableForm(t *testing.T) {
	for address, want := range map[string]string{
		"https://x/posts/%E6%9E%B6%E6%9E%84/":      "https://x/posts/架构/",
		"https://x/a%20b%2Fc?q=%E6%9E%B6%23":       "https://x/a%20b%2Fc?q=架%23",
		"https://x/%E2%80%AEevil":                  "https://x/%E2%80%AEevil", // turns the text around
		"https://x/%E6%9E":                         "https://x/%E6%9E",        // half a character
		"https://x/%e6%9e%b6":                      "https://x/架",
		"https://x/%E3%80%80space":                 "https://x/%E3%80%80space",
		"https://x/\x1b[2J":                        "https://x/[2J",
		"file:///srv/site/posts/a/index.html":      "file:///srv/site/posts/a/index.html",
		"https://x/posts/%E6%9E%B6%C2%9B%E6%9E%84": "https://x/posts/%E6%9E%B6%C2%9B%E6%9E%84",
	} {
		if got := readable(address); got != want {
			t.Errorf("%s is told as %q, want %q", address, got, want)
		}
	}
}

func TestAPipeIsNoTerminal(t *testing.T) {
	var out bytes.Buffer
	if s := newScreen(&out, time.UTC, noon); s.color || s.terminal() {
		t.Errorf("a buffer is taken for a terminal: %+v", s)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if s := newScreen(w, time.UTC, noon); s.color || s.terminal() {
		t.Errorf("a pipe is taken for a terminal: %+v", s)
	}
}
