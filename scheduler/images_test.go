package scheduler

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestImagesAreFoundAndKeptAsTheyAreNamed(t *testing.T) { // B60
	for _, c := range []struct{ name, file, ref string }{
		{"escaped blanks", "Pasted image 1.png", "![](Pasted%20image%201.png)"},
		{"angle brackets", "Pasted image 1.png", "![](<Pasted image 1.png>)"},
		{"escaped Chinese with a folder", "图 片/截图（1）.png", "![](%E5%9B%BE%20%E7%89%87/%E6%88%AA%E5%9B%BE%EF%BC%881%EF%BC%89.png)"},
		{"plain Chinese", "图片/截图.png", "![](图片/截图.png)"},
		{"a percent sign that escapes nothing", "100%.png", "![](100%.png)"},
		{"an escape that is the name itself", "a%20b.png", "![](a%20b.png)"},
		{"a Windows path", "img/a.png", `![](img\a.png)`},
		{"an embed", "a.png", "![[a.png]]"},
		{"an embed without its folder", "deep/er/a.png", "![[a.png|300]]"},
		{"HTML", "img/a.png", `<img src="img/a.png">`},
	} {
		for _, place := range []string{"trip/", ""} { // in a folder, or beside a single file
			t.Run(c.name+" in "+place, func(t *testing.T) {
				r := newRig(t)
				body := c.ref + "\n\ntext"
				if place == "" {
					r.put(map[string]string{"trip.md": text("Trip", body), c.file: picture(1)})
				} else {
					r.put(map[string]string{"trip/index.md": text("Trip", body), "trip/" + c.file: picture(1)})
				}
				r.settle()
				r.settle()
				r.wantArticles("trip")
				if got := r.files()[".done/trip/r1/"+c.file]; got != picture(1) {
					t.Errorf("the image is not kept; files: %q", r.files())
				}
				// The stored source must do without what is in the queue.
				r.must(os.RemoveAll(r.path(strings.Split(c.file, "/")[0])))
				r.publish()
				posts := r.accounts["blog"].posts
				if len(posts) != 1 || len(posts[0].Images) != 1 {
					t.Fatalf("posts = %+v, want one with one image\n%s", posts, r.log)
				}
				f, err := posts[0].Images[0].Open()
				r.must(err)
				r.must(f.Close())
			})
		}
	}
}

func TestSharedImagesAreKeptWithTheArticle(t *testing.T) {
	for _, c := range []struct{ name, article, ref string }{
		{"from a folder, by its way", "trip/index.md", "../assets/logo.png"},
		{"from a folder, by its name", "trip/index.md", "logo.png"},
		{"from a folder, as if beside it", "trip/index.md", "assets/logo.png"},
		{"from a single file, by its way", "trip.md", "assets/logo.png"},
		{"from a single file, by its name", "trip.md", "logo.png"},
		{"as an embed", "trip/index.md", "[[logo.png]]"},
	} {
		for _, linked := range []bool{false, true} {
			name := c.name
			if linked {
				name += ", with assets elsewhere"
			}
			t.Run(name, func(t *testing.T) {
				r := newRig(t)
				ref := "![](" + c.ref + ")"
				if strings.HasPrefix(c.ref, "[[") {
					ref = "!" + c.ref
				}
				if linked { // the person who set herald up linked the folder
					r.must(os.Symlink(t.TempDir(), r.path("assets")))
				}
				r.put(map[string]string{c.article: text("Trip", ref), "assets/logo.png": picture(7), "assets/other.png": picture(8)})
				r.settle()
				r.settle()
				r.wantArticles("trip")
				if !exists(r.path("assets/logo.png")) {
					t.Error("the shared image left the assets folder")
				}
				r.must(os.RemoveAll(r.path("assets")))
				r.publish()
				posts := r.accounts["blog"].posts
				if len(posts) != 1 || len(posts[0].Images) != 1 {
					t.Fatalf("posts = %+v, want one with one image\n%s", posts, r.log)
				}
			})
		}
	}
}

func TestAnImageThatIsALinkInsideTheQueueIsKept(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{
		"trip/index.md": text("Trip", "![](a.png) ![](pics/b.png)"), "assets/a.png": picture(1), "trip/real/b.png": picture(2),
	})
	r.must(os.Symlink("../assets/a.png", r.path("trip/a.png")))
	r.must(os.Symlink("real", r.path("trip/pics")))
	r.settle()
	r.settle()
	r.wantArticles("trip")
	r.must(os.RemoveAll(r.path("assets")))
	r.publish()
	if posts := r.accounts["blog"].posts; len(posts) != 1 || len(posts[0].Images) != 2 {
		t.Fatalf("posts = %+v, want one with two images\n%s", posts, r.log)
	}
}

func TestACoverIsKept(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{
		"trip.md":    "---\ntitle: Trip\ncover: cover.png\nblog: { cover: other.png }\n---\n\ntext\n",
		"cover.png":  picture(1),
		"other.png":  picture(2),
		"unused.png": picture(3),
	})
	r.settle()
	r.settle()
	r.wantArticles("trip")
	r.wantFiles(".done/trip/r1/trip.md", ".done/trip/r1/cover.png", ".done/trip/r1/other.png", "cover.png", "other.png", "unused.png")
}

func TestAMissingImageIsWaitedForAMinuteAndThenRefused(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{"trip/index.md": text("Trip", "![](a.png)"), "good.md": text("Good", "text")})
	r.look(0)
	at := r.look(2 * time.Second)
	r.wantArticles("good")
	if wait := at.Sub(r.now); wait <= 0 || wait > 5*time.Second {
		t.Errorf("next look in %v, want within seconds", wait)
	}
	for range 29 {
		r.look(2 * time.Second)
	}
	if !exists(r.path("trip")) {
		t.Fatalf("refused after %s, want a minute", 58*time.Second)
	}
	if n := strings.Count(r.log.String(), "article is waited for"); n != 1 {
		t.Errorf("told %d times that it waits, want once", n)
	}
	r.look(2 * time.Second)
	if reason := r.reason("trip"); !strings.Contains(reason, `trip/index.md:5: image "a.png" is not there`) || !strings.Contains(reason, "; put the picture there") {
		t.Errorf("reason = %s, want file, line, fault and remedy", reason)
	}
}

func TestImagesMayArriveAfterTheText(t *testing.T) { // B69
	r := newRig(t)
	r.drop("trip.md", text("Trip", "![](a.png) ![](b.png)"))
	r.settle()
	r.drop("a.png", picture(1))
	r.look(10 * time.Second)
	r.wantArticles()
	r.dropNow("b.png", picture(2))
	r.look(0)
	r.wantArticles()
	r.look(2 * time.Second)
	r.wantArticles("trip")
}

func TestEveryImageThatArrivesInAFolderGivesAnotherMinute(t *testing.T) {
	r := newRig(t)
	r.drop("trip/index.md", text("Trip", "![](a.png) ![](b.png)"))
	r.settle()
	r.look(50 * time.Second)
	r.drop("trip/a.png", picture(1))
	r.settle()
	r.look(50 * time.Second)
	r.drop("trip/b.png", picture(2))
	r.settle()
	r.wantArticles("trip")
}

func TestAnImageBesideASingleFileIsNotTakenHalfWritten(t *testing.T) {
	t.Run("by its time", func(t *testing.T) {
		r := newRig(t)
		r.drop("trip.md", text("Trip", "![](a.png)"))
		r.look(0)
		r.now = r.now.Add(2 * time.Second)
		r.dropNow("a.png", picture(1)[:40])
		r.look(0)
		r.wantArticles()
		r.drop("a.png", picture(1))
		r.settle()
		r.wantArticles("trip")
		if got := r.files()[".done/trip/r1/a.png"]; got != picture(1) {
			t.Errorf("kept %q, want the whole picture", got)
		}
	})
	t.Run("while it is open", func(t *testing.T) {
		r := newRig(t)
		f, err := os.Create(r.path("a.png"))
		r.must(err)
		defer f.Close()
		_, err = f.WriteString(picture(1))
		r.must(err)
		r.drop("trip.md", text("Trip", "![](a.png)"))
		r.settle()
		r.settle()
		r.wantArticles()
		r.must(f.Close())
		r.settle()
		r.wantArticles("trip")
	})
	t.Run("before its first byte", func(t *testing.T) {
		r := newRig(t)
		r.put(map[string]string{"trip.md": text("Trip", "![](a.png)"), "a.png": ""})
		r.look(0)
		r.look(2 * time.Second)
		r.drop("a.png", picture(1))
		r.settle()
		r.settle()
		r.wantArticles("trip")
	})
}
