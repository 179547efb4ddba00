package site

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// words are what the theme itself says.
type words struct {
	Skip, Menu, Articles, Tags, Feed       string
	NewerPost, OlderPost, PostNav, PageNav string
	NewerPosts, OlderPosts                 string
	Updated, Minutes, Count                string
	PageTitle, PageOf                      string // formats
	Empty, NotFound, NotFoundText, Home    string
	Day                                    string // a layout of package time
	Locale                                 string // of OpenGraph
}

var chinese = words{
	Skip: "跳到正文", Menu: "主导航", Articles: "文章", Tags: "标签", Feed: "订阅",
	NewerPost: "下一篇", OlderPost: "上一篇", PostNav: "相邻文章", PageNav: "分页",
	NewerPosts: "较新的文章", OlderPosts: "较早的文章",
	Updated: "更新于", Minutes: "约 %d 分钟读完", Count: "共 %d 篇",
	PageTitle: "第 %d 页", PageOf: "第 %d 页，共 %d 页",
	Empty: "还没有文章。", NotFound: "页面不存在", NotFoundText: "这个地址没有内容，文章可能已经撤下。", Home: "回到首页",
	Day: "2006年1月2日",
}

var english = words{
	Skip: "Skip to content", Menu: "Main", Articles: "Articles", Tags: "Tags", Feed: "Feed",
	NewerPost: "Next", OlderPost: "Previous", PostNav: "Neighbouring articles", PageNav: "Pages",
	NewerPosts: "Newer articles", OlderPosts: "Older articles",
	Updated: "Updated", Minutes: "%d min read", Count: "Articles: %d",
	PageTitle: "Page %d", PageOf: "Page %d of %d",
	Empty: "No articles yet.", NotFound: "Page not found", NotFoundText: "There is nothing at this address. The article may have been withdrawn.", Home: "Back to the front page",
	Day: "January 2, 2006",
}

// wordsOf returns the words for a language tag.
func wordsOf(language string) words {
	w := english
	if primary, _, _ := strings.Cut(strings.ToLower(language), "-"); primary == "zh" {
		w = chinese
	}
	w.Locale = strings.ReplaceAll(language, "-", "_")
	return w
}

// Reading speeds of an unhurried reader.
const (
	hanPerMinute   = 400
	wordsPerMinute = 220
)

// readingMinutes estimates how long the text of an HTML body takes to read: at
// least one minute.
func readingMinutes(body string) int {
	var han, latin int
	z := html.NewTokenizer(strings.NewReader(body))
	for tt := z.Next(); tt != html.ErrorToken; tt = z.Next() {
		if tt != html.TextToken {
			continue
		}
		inWord := false
		for _, r := range string(z.Text()) {
			letter := unicode.IsLetter(r) || unicode.IsDigit(r)
			switch {
			case unicode.Is(unicode.Han, r):
				han++
				letter = false
			case letter && !inWord:
				latin++
			}
			inWord = letter
		}
	}
	return max(1, (han*wordsPerMinute+latin*hanPerMinute+hanPerMinute*wordsPerMinute/2)/(hanPerMinute*wordsPerMinute))
}
