package dialect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestXiaohongshuTitlesAreCountedInUnits(t *testing.T) { // B39
	for s, want := range map[string]int{
		"Claude 4.6发布，AI助手又进化了": 15,
		"你好世界":         4,
		"hello":        3,
		"OOTD穿搭分享":     6,
		"😀":            2,
		"a":            1,
		"":             0,
		"\u007f\u007f": 1,
		"\u0080\u0080": 2,
	} {
		wantEqual(t, s, Units(s), want)
	}
}

func TestOtherPlatformsCountInTheirWay(t *testing.T) { // B52
	for s, want := range map[string]struct{ characters, codeUnits, halfWidth int }{
		"":               {0, 0, 0},
		"abc":            {3, 3, 2},
		"你好":             {2, 2, 2},
		"你好a":            {3, 3, 3},
		"😀":              {1, 2, 1},
		"e\u0301":        {2, 2, 2},
		"https://e.com/": {14, 14, 7},
	} {
		wantEqual(t, s+" characters", Characters(s), want.characters)
		wantEqual(t, s+" code units", CodeUnits(s), want.codeUnits)
		wantEqual(t, s+" half width", HalfWidth(s), want.halfWidth)
	}
}

func TestCleanRemovesWhatPlatformsRefuse(t *testing.T) {
	for s, want := range map[string]string{
		"a\nb\tc":                 "a\nb\tc",
		"a\r\nb":                  "a\nb",
		"a\u2028b\u2029c":         "abc",
		"a\x00b\x1bc\x7fd\u0085e": "abcde",
		"a\xffb\xe4\xbdc":         "abc",
		"中\u00a0文\u200b\u200d👨‍👩‍👧 \u3000": "中\u00a0文\u200b\u200d👨‍👩‍👧 \u3000",
	} {
		wantEqual(t, s, Clean(s), want)
	}
}

func TestTagsAreCleanedAndLimited(t *testing.T) { // B40
	for _, tc := range []struct {
		tags           []string
		clean, dropped []string
	}{
		{[]string{"#Go", "machine learning", " 架构 ", "", "#", "go", "C++", "＃话题#"}, []string{"Go", "machinelearning", "架构"}, []string{"C++", "话题"}},
		{[]string{"a", "A", "\u2028b"}, []string{"a", "b"}, nil},
		{nil, nil, nil},
	} {
		clean, dropped := CleanTags(tc.tags, 3)
		if diff := cmp.Diff([][]string{tc.clean, tc.dropped}, [][]string{clean, dropped}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.tags, diff)
		}
	}
}

func TestTextIsCutAtASensibleBorder(t *testing.T) {
	const family = "👨‍👩‍👧‍👦"
	for _, tc := range []struct {
		s     string
		limit int
		count Count
		want  string
	}{
		{"短", 5, Characters, "短"},
		{"第一句。第二句很长很长。", 6, Characters, "第一句。"},
		{"第一句。第二句很长很长。", 9, Characters, "第一句。第二句很…"},
		{"好。第二句，很长很长很长很长。", 9, Characters, "好。第二句，很长…"},
		{"One two. Three four five.", 12, Characters, "One two."},
		{"one two three four", 12, Characters, "one two…"},
		{"一\n\n二三四五六七", 5, Characters, "一\n\n二…"},
		{"一二三四\n\n五六七八九", 6, Characters, "一二三四"},
		{"xxxxxxxxxxxxxxxxxxxx", 10, Characters, "xxxxxxxxx…"},
		{"ab" + family + family, 6, Characters, "ab…"},
		{family, 3, Characters, ""},
		{"一二三四五六", 3, HalfWidth, "一二…"},
		{"abcdefgh", 3, HalfWidth, "abcd…"},
		{"😀😀😀", 4, Units, "😀…"},
		{"看 https://example.com/a/long/path 吧，好不好呢", 20, Characters, "看…"},
		{"一二三四五六七八 https://example.com/x", 12, Characters, "一二三四五六七八…"},
		{"text", 0, Characters, ""},
		{"text", -1, Characters, ""},
		{"text", 1, Characters, ""},
		{"", 3, Characters, ""},
	} {
		got := Cut(tc.s, tc.limit, tc.count)
		wantEqual(t, tc.s, got, tc.want)
		if tc.count(got) > max(tc.limit, 0) {
			t.Errorf("%q counts %d, want at most %d", got, tc.count(got), tc.limit)
		}
	}
}
