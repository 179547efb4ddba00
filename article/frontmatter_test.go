package article

import (
	"strings"
	"testing"
	"time"
)

func TestFrontMatterIsRead(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	a := mustLoadText(t, `---
title: 错误处理是系统韧性的设计
id: error-handling
author: 作者
summary: |
  两行
  摘要
tags: [go, 架构]
canonical_url: https://example.com/error-handling
platforms: [wechat, blog]
publish_at: 2026-06-17 09:00
date: 2026-06-01
skip_if_late: 24h
consistency: all_or_nothing
allow_duplicate: yes
draft: true
wechat: { mode: publish, title: 短标题, tags: "a, b", when: 2026-01-02, 7: x }
---

正文
`, Options{Location: berlin, Targets: []string{"wechat", "blog"}})

	got := *a
	got.File, got.Dir, got.Hash, got.Fingerprint = "", "", "", ""
	want := Article{
		ID: "error-handling", Title: "错误处理是系统韧性的设计", Author: "作者", Summary: "两行 摘要",
		CanonicalURL: "https://example.com/error-handling", Tags: []string{"go", "架构"},
		Date:      time.Date(2026, 6, 1, 0, 0, 0, 0, berlin),
		Platforms: []string{"wechat", "blog"}, PublishAt: time.Date(2026, 6, 17, 9, 0, 0, 0, berlin),
		SkipIfLate: 24 * time.Hour, Consistency: AllOrNothing, AllowDuplicate: true, Draft: true,
		Overrides: map[string]map[string]any{"wechat": {
			"mode": "publish", "title": "短标题", "tags": []string{"a", "b"}, "when": "2026-01-02", "7": "x",
		}},
		Body: "正文\n", BodyLine: 20,
	}
	wantEqual(t, "article", got, want)

	wechat := a.For("wechat")
	wantEqual(t, "title for wechat", wechat.Title, "短标题")
	wantEqual(t, "tags for wechat", wechat.Tags, []string{"a", "b"})
	wantEqual(t, "options for wechat", wechat.Options, map[string]any{"mode": "publish", "when": "2026-01-02", "7": "x"})
	wantEqual(t, "title for blog", a.For("blog").Title, a.Title)
	wantEqual(t, "title of the article itself", a.Title, "错误处理是系统韧性的设计")
}

func TestFrontMatterIsFoundWhereverEditorsPutIt(t *testing.T) { // B76
	for name, text := range map[string]string{
		"plain":                     "---\ntitle: T\n---\nbody\n",
		"byte order mark and CRLF":  "\uFEFF---\r\ntitle: T\r\n---\r\nbody\r\n",
		"blank lines before":        "\n  \n---\ntitle: T\n---\nbody\n",
		"old Mac line ends":         "---\rtitle: T\r---\rbody\r",
		"spaces behind delimiters":  "---  \ntitle: T\n--- \nbody\n",
		"mark, blank line and CRLF": "\uFEFF\r\n---\r\ntitle: T\r\n---\r\n\r\n\r\nbody",
	} {
		t.Run(name, func(t *testing.T) {
			a := mustLoadText(t, text, Options{})
			wantEqual(t, "title", a.Title, "T")
			wantEqual(t, "body", a.Body, "body\n")
		})
	}
}

func TestTagsAndPlatformsAreListsInAnyForm(t *testing.T) { // B78
	for value, want := range map[string][]string{
		"[2024, go, true, go]":         {"2024", "go", "true"},
		"2024":                         {"2024"},
		"go, 架构，错误":                    {"go", "架构", "错误"},
		`["#Go", " ", "# 架构 ", null]`:  {"Go", "架构"},
		"\n  - go\n  - \"a, b\"\n  - ": {"go", "a, b"},
		"":                             nil,
		"[]":                           nil,
	} {
		a := mustLoadText(t, "---\ntitle: T\ntags: "+value+"\n---\nx\n", Options{})
		wantEqual(t, "tags: "+value, a.Tags, want)
	}
	a := mustLoadText(t, "---\ntitle: T\nplatforms: wechat, blog , wechat\n---\nx\n", Options{Targets: []string{"blog", "wechat"}})
	wantEqual(t, "platforms", a.Platforms, []string{"wechat", "blog"})
}

func TestFaultsOfFrontMatterNameLineAndRemedy(t *testing.T) {
	targets := []string{"wechat", "weibo", "blog"}
	for _, tc := range []struct {
		name, front string
		rule        string
		line        int
		texts       []string
	}{
		{"a quoted string that never ends", "a: 1\nb: \"x\n", "front-matter-broken", 3, []string{"YAML", "quote a value"}},
		{"two colons in a value", "author: a\ntitle: a: b\n", "front-matter-broken", 3, []string{"mapping values", "quote a value"}},
		{"a list that never ends", "a: 1\ntags: [a\n", "front-matter-broken", 3, []string{"YAML"}},
		{"a tab as indentation", "wechat:\n\tmode: x\n", "front-matter-broken", 3, []string{"indent with spaces"}},
		{"a value behind a quoted one", "a: 1\nb: \"x\" y\nc: 2\n", "front-matter-broken", 3, []string{"YAML"}},
		{"a fault behind a text of several lines", "a: \"x\n  y\"\nb: [\nc: 2\n", "front-matter-broken", 4, []string{"YAML"}},
		{"text behind the end", "title: T\n...\nplatforms: [x]\n", "front-matter-broken", 4, []string{"document"}},
		{"a second document", "title: T\n--- platforms\n", "front-matter-broken", 3, []string{"a second document"}},
		{"a sentence", "just words\n", "front-matter-broken", 2, []string{"a single value", `"key: value"`}},
		{"a list", "- a\n- b\n", "front-matter-broken", 2, []string{"a list"}},
		{"a key twice", "title: a\nauthor: x\ntitle: b\n", "key-duplicate", 4, []string{`"title" is already there on line 2`, "remove"}},
		{"a key that is a list", "title: a\n[a, b]: c\n", "front-matter-broken", 3, []string{"a key", "a list"}},

		{"a misspelt key", "title: T\nplatfroms: [blog]\n", "key-unknown", 3, []string{`"platfroms"`, `"platforms"`}},
		{"a key in camel case", "title: T\npublishAt: now\n", "key-unknown", 3, []string{`"publish_at"`}},
		{"a key with a hyphen", "title: T\npublish-at: now\n", "key-unknown", 3, []string{`"publish_at"`}},
		{"Hugo's publishDate", "title: T\npublishDate: now\n", "key-unknown", 3, []string{`"publish_at"`}},
		{"a capital letter", "Title: T\ntitle: T\n", "key-unknown", 2, []string{`"Title"`, `"title"`}},
		{"a singular", "title: T\ntag: x\n", "key-unknown", 3, []string{`"tags"`}},
		{"another singular", "title: T\nplatform: blog\n", "key-unknown", 3, []string{`"platforms"`}},
		{"a misspelt target", "title: T\nwehcat: { mode: draft }\n", "key-unknown", 3, []string{`"wehcat"`, `"wechat"`}},
		{"published: false", "title: T\npublished: false\n", "key-unknown", 3, []string{"draft: true"}},

		{"an unknown platform", "title: T\nplatforms:\n  - blog\n  - weebo\n", "platform-unknown", 5, []string{`"weebo"`, `did you mean "weibo"`, "blog, wechat, weibo"}},
		{"no platform at all", "title: T\nplatforms: []\n", "value-invalid", 3, []string{"empty", "draft: true"}},
		{"overrides that are no mapping", "title: T\nwechat: true\n", "value-invalid", 3, []string{`"wechat"`, "mapping", "platforms: [wechat]"}},
		{"overrides that are no data", "title: T\nwechat:\n  x: .nan\n", "value-invalid", 4, []string{`"wechat"`}},
		{"an override twice", "title: T\nwechat:\n  x: 1\n  x: 2\n", "value-invalid", 5, []string{"already defined"}},
		{"a wrong type in an override", "title: T\nwechat:\n  title: [a]\n", "value-invalid", 4, []string{"wechat.title", "a list"}},

		{"a title that is a list", "title: [x]\n", "value-invalid", 2, []string{"title must be text, not a list", "title: text"}},
		{"a cover that is a mapping", "title: T\ncover: { image: x }\n", "value-invalid", 3, []string{"cover must be text, not a mapping"}},
		{"tags that are a mapping", "title: T\ntags: { a: b }\n", "value-invalid", 3, []string{"tags must be a list, not a mapping", "tags: [one, two]"}},
		{"a tag that is a list", "title: T\ntags:\n  - a\n  - [b]\n", "value-invalid", 5, []string{"tags holds a list"}},
		{"an id that is a path", "title: T\nid: ../x\n", "value-invalid", 3, []string{`"../x"`, "id: x"}},
		{"an address without scheme", "title: T\ncanonical_url: example.com\n", "value-invalid", 3, []string{"canonical_url", "https://"}},
		{"an unknown consistency", "title: T\nconsistency: strict\n", "value-invalid", 3, []string{`"strict"`, "best_effort or all_or_nothing"}},
		{"a flag that is none", "title: T\ndraft: maybe\n", "value-invalid", 3, []string{`"maybe"`, "true or false"}},
		{"a duration in days", "title: T\nskip_if_late: 1d\n", "value-invalid", 3, []string{`"1d"`, "24h"}},
		{"a duration without unit", "title: T\nskip_if_late: 24\n", "value-invalid", 3, []string{"24h"}},
		{"a negative duration", "title: T\nskip_if_late: -1h\n", "value-invalid", 3, []string{"24h"}},
		{"a flag that is a list", "title: T\ndraft: [a]\n", "value-invalid", 3, []string{"draft must be text"}},
		{"a duration that is a list", "title: T\nskip_if_late: [a]\n", "value-invalid", 3, []string{"skip_if_late must be text"}},
		{"a consistency that is a list", "title: T\nconsistency: [a]\n", "value-invalid", 3, []string{"consistency must be text"}},
		{"a date that is a list", "title: T\ndate: [a]\n", "value-invalid", 3, []string{"date must be text"}},
		{"an id that is a list", "title: T\nid: [a]\n", "value-invalid", 3, []string{"id must be text"}},
		{"a date that is none", "title: T\npublish_at: tomorrow\n", "date-invalid", 3, []string{`publish_at "tomorrow" is not a time`, "2026-06-17 09:00", "+08:00"}},
		{"a day that is none", "title: T\ndate: 2026-02-30\n", "date-invalid", 3, []string{`"2026-02-30"`}},
		{"a date with slashes", "title: T\ndate: 2026/02/03\n", "date-invalid", 3, []string{`"2026/02/03"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := loadText(t, "---\n"+tc.front+"---\n\ntext\n", Options{Targets: targets, Name: "inbox/a.md"})
			wantProblem(t, err, tc.rule, tc.line, append(tc.texts, "inbox/a.md:")...)
		})
	}
}

func TestFrontMatterWithoutEndIsRefused(t *testing.T) {
	_, err := loadText(t, "\n---\ntitle: T\n\ntext\n", Options{})
	wantProblem(t, err, "front-matter-unclosed", 2, "a.md:2", "never closed", "---")
	_, err = loadText(t, "---", Options{})
	wantProblem(t, err, "front-matter-unclosed", 1)
	_, err = loadText(t, "+++\ntitle = \"T\"\n+++\nx\n", Options{})
	wantProblem(t, err, "front-matter-toml", 1, "YAML between two lines of ---")
}

func TestEveryFaultIsToldAtOnce(t *testing.T) { // B78
	_, err := loadText(t, "---\ntitle: T\ntags: {a: b}\npublish_at: soon\nplattforms: x\n---\n![](gone.png)\n", Options{})
	ps, _ := err.(Problems) //nolint:errorlint // Load promises the type itself
	var rules []string
	for _, p := range ps {
		rules = append(rules, p.Rule)
	}
	wantEqual(t, "rules", rules, []string{"value-invalid", "date-invalid", "key-unknown", RuleImageMissing})
	if !ps.Has("date-invalid") || ps.Has("title-missing") {
		t.Errorf("Has does not tell which rules there are: %v", ps)
	}
	if n := strings.Count(err.Error(), "\n"); n != 3 {
		t.Errorf("message has %d line breaks, want 3:\n%v", n, err)
	}
}

func TestKeysOfOtherProgramsPassWithANote(t *testing.T) {
	a := mustLoadText(t, "---\ntitle: T\nlayout: post\ncategories: [a]\nmood: fine\nparams: {a: b}\ndescription: D\npublished: true\n---\nx\n",
		Options{Targets: []string{"blog"}})
	wantEqual(t, "notes", a.Notes, []string{
		`line 3: front matter key "layout" is not herald's and was ignored`,
		`line 4: front matter key "categories" is not herald's and was ignored`,
		`line 5: front matter key "mood" is not herald's and was ignored`,
		`line 6: front matter key "params" is not herald's and was ignored`,
		`line 7: front matter key "description" is not herald's and was ignored`,
		`line 8: front matter key "published" is not herald's and was ignored`,
	})
	wantEqual(t, "summary", a.Summary, "")
	for _, key := range foreignKeys {
		if fold(key) != key && strings.ToLower(key) != key {
			t.Errorf("%q can never match: keys are compared in lower case", key)
		}
		if _, err := loadText(t, "---\ntitle: T\n"+key+": x\n---\nx\n", Options{}); err != nil {
			t.Errorf("well-known key refused: %v", err)
		}
	}
}

func TestWithoutTargetsEveryMappingIsAnOverride(t *testing.T) {
	a := mustLoadText(t, "---\ntitle: T\nanything: { title: U }\nparams: { a: b }\nblog:\n---\nx\n", Options{})
	wantEqual(t, "overrides", a.Overrides, map[string]map[string]any{"anything": {"title": "U"}})
	_, err := loadText(t, "---\ntitle: T\nplattforms: { a: b }\n---\nx\n", Options{})
	wantProblem(t, err, "key-unknown", 3)
}

func TestEmptyKeysCountAsAbsent(t *testing.T) {
	a := mustLoadText(t, "---\ntitle:\nid: ~\ntags:\nplatforms:\npublish_at:\ncover:\n---\n# Heading\n\nx\n", Options{})
	wantEqual(t, "title", a.Title, "Heading")
	wantEqual(t, "id", a.ID, "a")
	if a.Platforms != nil || !a.PublishAt.IsZero() {
		t.Errorf("platforms %v, publish_at %v, want none", a.Platforms, a.PublishAt)
	}
}

func TestAliasesAreFollowed(t *testing.T) {
	a := mustLoadText(t, "---\ntitle: &t T\ntags: &list [a, *t]\nblog: { tags: *list, title: *t }\n---\nx\n", Options{})
	wantEqual(t, "tags", a.Tags, []string{"a", "T"})
	wantEqual(t, "overrides", a.Overrides["blog"], map[string]any{"tags": []string{"a", "T"}, "title": "T"})
}
