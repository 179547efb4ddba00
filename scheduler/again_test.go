package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"herald/state"
)

func TestTheSameFileDroppedAgainChangesNothing(t *testing.T) {
	r := newRig(t)
	for range 3 {
		r.drop("hello.md", text("Hello", "World"))
		r.settle()
		r.publish()
	}
	if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"World"}) {
		t.Errorf("published %q, want it once", got)
	}
	if a := r.article("hello"); a.Revision != 1 || len(a.Sources) != 1 {
		t.Errorf("record = %+v, want one revision", a)
	}
	r.wantFiles(".done/hello/r1/hello.md")
}

func TestAChangedRoutingIsNoNewRevisionAndAddsTargets(t *testing.T) {
	r := newRig(t)
	first := "---\ntitle: Hello\nplatforms: [blog]\n---\n\nWorld\n"
	second := "---\ntitle: Hello\nplatforms: [blog, weibo]\nconsistency: all_or_nothing\n---\n\nWorld\n"
	r.drop("hello.md", first)
	r.settle()
	r.publish()
	r.drop("hello.md", second)
	r.settle()
	r.publish()
	a := r.article("hello")
	if a.Revision != 1 || !slices.Equal(a.Targets, []string{"blog", "weibo"}) {
		t.Errorf("record = %+v, want one revision on two targets", a)
	}
	if blog, weibo := r.accounts["blog"].bodies(), r.accounts["weibo"].bodies(); len(blog) != 1 || len(weibo) != 1 {
		t.Errorf("published %q and %q, want each once", blog, weibo)
	}
	// Both texts are kept: the second beside the first.
	files := r.files()
	if files[".done/hello/r1/hello.md"] != first || files[".done/hello/r1.2/hello.md"] != second {
		t.Errorf("kept %q, want both", files)
	}
	if a.Sources[0] != ".done/hello/r1.2/hello.md" {
		t.Errorf("source = %s, want the latest", a.Sources[0])
	}
	r.drop("hello.md", first)
	r.settle()
	if got := r.article("hello").Sources[0]; got != ".done/hello/r1/hello.md" {
		t.Errorf("source = %s, want the first again", got)
	}
	r.wantFiles(".done/hello/r1/hello.md", ".done/hello/r1.2/hello.md")
}

func TestAChangedTextIsANewRevisionThatUpdatesInPlace(t *testing.T) { // B10
	r := newRig(t)
	r.drop("hello.md", text("Hello", "Wrold"))
	r.settle()
	r.publish()
	r.drop("hello.md", text("Hello", "World"))
	r.settle()
	r.publish()
	if a := r.article("hello"); a.Revision != 2 || len(a.Sources) != 2 {
		t.Errorf("record = %+v, want two revisions", a)
	}
	if d := r.delivery("hello", "blog"); d.State != state.Published || d.Generation != 1 || d.Landed != 2 {
		t.Errorf("delivery = %+v, want the first post with the second revision", d)
	}
	if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"Wrold", "World"}) {
		t.Errorf("the platform got %q", got)
	}
	r.wantFiles(".done/hello/r1/hello.md", ".done/hello/r2/hello.md")
}

func TestAChangedImageIsANewRevision(t *testing.T) {
	r := newRig(t)
	for shade := range uint8(2) {
		r.put(map[string]string{"trip/index.md": text("Trip", "![](a.png)"), "trip/a.png": picture(shade)})
		r.settle()
	}
	if a := r.article("trip"); a.Revision != 2 {
		t.Errorf("revision = %d, want 2", a.Revision)
	}
	files := r.files()
	if files[".done/trip/r1/a.png"] != picture(0) || files[".done/trip/r2/a.png"] != picture(1) {
		t.Error("the pictures of both revisions are not kept")
	}
}

func TestAFileBesideTheTextIsKeptThoughItChangesNothing(t *testing.T) {
	r := newRig(t)
	for _, notes := range []string{"one", "two"} {
		r.put(map[string]string{"trip/index.md": text("Trip", "text"), "trip/notes.txt": notes})
		r.settle()
	}
	files := r.files()
	if files[".done/trip/r1/notes.txt"] != "one" || files[".done/trip/r1.2/notes.txt"] != "two" {
		t.Errorf("kept %q, want both notes", files)
	}
	if a := r.article("trip"); a.Revision != 1 {
		t.Errorf("revision = %d, want 1", a.Revision)
	}
}

func TestTheIdentityIsTheIDElseTheNameOfFileOrFolder(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{
		"Hello, World!.md":  text("A", "a"),
		"错误 处理.md":          text("B", "b"),
		"My Trip/index.md":  text("C", "c"),
		"anything.md":       "---\nid: chosen\ntitle: D\n---\n\nd\n",
		"index.md":          text("E", "e"),
		"x.md/index.md":     text("F", "f"),
		"caps/INDEX.MD":     text("G", "g"),
		"other/article.md":  text("H", "h"),
		"UPPER.MD":          text("I", "i"),
		"under/_part.md":    "only a part",
		"under/.hidden.md":  "hidden",
		"under/chapter.md":  text("J", "j"),
		"two words/text.md": text("K", "k"),
	})
	r.settle()
	want := []string{"hello-world", "错误-处理", "my-trip", "chosen", "index", "x-md", "caps", "other", "upper", "under", "two-words"}
	slices.Sort(want)
	r.wantArticles(want...)
	r.publish()
	if n := len(r.accounts["blog"].posts); n != len(want) {
		t.Errorf("%d published, want %d\n%s", n, len(want), r.log)
	}
}

func TestAnotherFileOfTheSameIdentityIsTheSameArticle(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{"a.md": "---\nid: trip\ntitle: T\n---\n\n![](pic.png)\n", "pic.png": picture(1)})
	r.settle()
	r.settle()
	r.put(map[string]string{"b/index.md": "---\nid: trip\ntitle: T\n---\n\n![](pic.png)\n", "b/pic.png": picture(1)})
	r.settle()
	r.publish()
	if got := r.accounts["blog"].bodies(); len(got) != 1 {
		t.Errorf("published %d times, want once", len(got))
	}
	if a := r.article("trip"); a.Revision != 1 || a.Sources[0] != ".done/trip/r1.2/index.md" {
		t.Errorf("record = %+v, want one revision with the latest source", a)
	}
}

func TestAnotherIdentityWithTheSameTextIsHeldAsDuplicate(t *testing.T) { // B13
	r := newRig(t)
	r.drop("a.md", text("Same", "the text"))
	r.settle()
	r.drop("b.md", text("Same", "the  text ")) // white space aside
	r.settle()
	r.publish()
	a := r.article("b")
	if a.Hold == nil || a.Hold.Reason != state.HeldDuplicate || !strings.Contains(a.Hold.Message, "same title and text as a") {
		t.Fatalf("hold = %+v, want a duplicate of a", a.Hold)
	}
	if n := len(r.accounts["blog"].posts); n != 1 {
		t.Errorf("%d posts, want the first only", n)
	}
	if !strings.Contains(r.log.String(), "article is held") {
		t.Error("the log does not tell that the article is held")
	}
	r.drop("b.md", "---\ntitle: Same\nallow_duplicate: true\n---\n\nthe  text\n")
	r.settle()
	r.publish()
	if n := len(r.accounts["blog"].posts); n != 2 {
		t.Errorf("%d posts, want allow_duplicate to let the second go", n)
	}
}

func TestADraftIsHeldUntilItIsNone(t *testing.T) {
	r := newRig(t)
	r.drop("a.md", "---\ntitle: T\ndraft: true\n---\n\ntext\n")
	r.settle()
	r.publish()
	if a := r.article("a"); a.Hold == nil || a.Hold.Reason != state.HeldDraft || len(r.accounts["blog"].posts) != 0 {
		t.Errorf("record = %+v, want it held as draft", a)
	}
	r.drop("a.md", "---\ntitle: T\n---\n\ntext\n")
	r.settle()
	r.publish()
	if n := len(r.accounts["blog"].posts); n != 1 {
		t.Errorf("%d posts, want one", n)
	}
}

func TestFrontMatterIsReadWithMarkAndForeignLineEnds(t *testing.T) { // B76
	for name, content := range map[string]string{
		"a byte order mark and CRLF":   "\ufeff---\r\ntitle: T\r\n---\r\n\r\nbody\r\n",
		"a blank line before the rule": "\n---\ntitle: T\n---\n\nbody\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.drop("a.md", content)
			r.settle()
			r.publish()
			if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"body"}) {
				t.Errorf("published %q, want the body without front matter\n%s", got, r.log)
			}
			if got := r.article("a").Title; got != "T" {
				t.Errorf("title = %q, want T", got)
			}
		})
	}
}

func TestATimeWithoutZoneIsOfTheConfiguredOne(t *testing.T) { // B73, B74
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(r *rig) { r.options.Location = berlin })
	for name, publishAt := range map[string]string{"winter": "2040-03-24 09:00", "summer": "2040-03-25 09:00", "zoned": "2040-03-25T09:00:00+08:00"} {
		r.drop(name+".md", "---\ntitle: "+name+"\npublish_at: "+publishAt+"\n---\n\n"+name+"\n")
	}
	r.settle()
	for id, want := range map[string]string{"winter": "2040-03-24T08:00:00Z", "summer": "2040-03-25T07:00:00Z", "zoned": "2040-03-25T01:00:00Z"} {
		if got := r.delivery(id, "blog").Due.UTC().Format(time.RFC3339); got != want {
			t.Errorf("%s is due at %s, want %s", id, got, want)
		}
	}
}

func TestAnArticleThatSaysNothingGetsTheConfiguredSkipIfLate(t *testing.T) {
	r := newRig(t, func(r *rig) { r.options.SkipIfLate = 24 * time.Hour })
	r.drop("a.md", text("A", "a"))
	r.drop("b.md", "---\ntitle: B\nskip_if_late: 1h\n---\n\nb\n")
	r.settle()
	if a, b := r.article("a").SkipIfLate, r.article("b").SkipIfLate; a != 24*time.Hour || b != time.Hour {
		t.Errorf("skip_if_late = %s and %s, want 24h and 1h", a, b)
	}
}
