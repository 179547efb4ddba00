package wechat

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/wechat/wechattest"
)

// find looks a post up without knowing anything but the post.
func find(t testing.TB, c *Client, p platforms.Post, since time.Time, m platforms.Memo) platforms.Found {
	t.Helper()
	found, err := c.Find(t.Context(), p, since, m)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestALostDraftIsFoundBySourceAndTitle(t *testing.T) {
	const source = "https://example.com/errors"
	tests := []struct {
		name  string
		other string // front matter of a draft that is there already
		own   string
		want  platforms.Outcome
	}{
		{"by source and title", "title: A\ncanonical_url: " + source, "title: A\nsummary: other\ncanonical_url: " + source, platforms.Present},
		{"by title and digest", "title: A\nsummary: s", "title: A\nsummary: s", platforms.Present},
		{"not by the source alone", "title: A\ncanonical_url: " + source, "title: B\ncanonical_url: " + source, platforms.Absent},
		{"not by the title alone", "title: A\nsummary: s", "title: A\nsummary: t", platforms.Absent},
		{"not one with a source where there is none", "title: A\nsummary: s\ncanonical_url: " + source, "title: A\nsummary: s", platforms.Absent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := wechattest.New(wechattest.Options{})
			c := open(t, s)
			post := func(front string) platforms.Post {
				return render(t, c, write(t, "---\n"+front+"\n---\n文 ![](a.png)\n", map[string][]byte{"a.png": pngOf(t, 8, 8)}))
			}
			r := mustPublish(t, c, post(tt.other), platformtest.NewMemo())
			m := platformtest.NewMemo()
			found := find(t, c, post(tt.own), time.Now().Add(-time.Minute), m)
			if found.Outcome != tt.want {
				t.Fatalf("found %+v, want outcome %v", found, tt.want)
			}
			if tt.want == platforms.Present && found.Receipt.ID != r.ID {
				t.Errorf("found %q, want %q", found.Receipt.ID, r.ID)
			}
			if again := find(t, c, post(tt.other), time.Now().Add(time.Minute), platformtest.NewMemo()); again.Outcome != platforms.Absent {
				t.Errorf("found %+v, which is older than since", again)
			}
		})
	}
}

func TestALostDraftOfAPublicationIsSubmitted(t *testing.T) {
	s := wechattest.New(wechattest.Options{})
	c := open(t, s, publishing)
	p, m := simple(t, c), platformtest.NewMemo()
	s.Script("draft/add", 1, wechattest.LoseReply())
	_, err := c.Publish(t.Context(), p, m)
	failureOf(t, err, platforms.Uncertain)
	if found := find(t, c, p, time.Now().Add(-time.Minute), m); found.Outcome != platforms.Partial {
		t.Fatalf("found %+v, want half of it", found)
	}
	mustPublish(t, c, p, m)
	if s.Calls("draft/add") != 1 || len(s.Publications()) != 1 {
		t.Errorf("%d drafts made, %d publications; want one", s.Calls("draft/add"), len(s.Publications()))
	}
}

func TestALostSubmissionIsFoundOnceReadersHaveIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := wechattest.New(wechattest.Options{PublishTime: time.Hour})
		c := open(t, s, publishing)
		p, m, began := simple(t, c), platformtest.NewMemo(), time.Now()
		s.Script("freepublish/submit", 1, wechattest.LoseReply())
		_, err := c.Publish(t.Context(), p, m)
		failureOf(t, err, platforms.Uncertain)
		if found := find(t, c, p, began, m); found.Outcome != platforms.Absent {
			t.Errorf("found %+v, want Absent while it is on its way", found)
		}
		_, err = c.Publish(t.Context(), p, m) // absence was believed too early
		failureOf(t, err, platforms.RateLimited)
		time.Sleep(time.Hour)
		_, err = c.Publish(t.Context(), p, m)
		failureOf(t, err, platforms.Exists)
		found := find(t, c, p, began, m)
		if found.Outcome != platforms.Present || found.Receipt.URL == "" || found.Receipt.Pending || len(s.Publications()) != 1 {
			t.Errorf("found %+v, want the article", found)
		}
	})
}

func TestListsAreReadAsFarAsNeeded(t *testing.T) {
	tests := []struct {
		name        string
		oldestFirst bool
		drafts      int // of others, an hour old
		pages       int
		kind        platforms.Kind
	}{
		{"newest first: one page", false, 100, 1, ""},
		{"in another order: to the end", true, 100, 6, ""},
		{"longer than can be read", true, maxPages * pageSize, maxPages, platforms.Unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := wechattest.New(wechattest.Options{OldestFirst: tt.oldestFirst})
				c := open(t, s)
				p := simple(t, c)
				other := p
				m := platformtest.NewMemo()
				for i := range tt.drafts {
					other.Title = fmt.Sprint("旧 ", i)
					if err := m.Set(memoDraft, ""); err != nil { // the pictures stay
						t.Fatal(err)
					}
					mustPublish(t, c, other, m)
				}
				time.Sleep(time.Hour)
				began := time.Now()
				r := mustPublish(t, c, p, platformtest.NewMemo())
				before := s.Calls("draft/batchget")
				found, err := c.Find(t.Context(), p, began, platformtest.NewMemo())
				if n := s.Calls("draft/batchget") - before; n != tt.pages {
					t.Errorf("%d pages read, want %d", n, tt.pages)
				}
				if tt.kind != "" {
					failureOf(t, err, tt.kind)
				} else if err != nil || found.Receipt.ID != r.ID {
					t.Errorf("found %+v, %v; want %s", found, err, r.ID)
				}
			})
		})
	}
}

func TestAQuotaOfLookUpsHoldsNothing(t *testing.T) {
	s := wechattest.New(wechattest.Options{Daily: map[string]int{"freepublish/batchget": 1}})
	c := open(t, s)
	p := simple(t, c)
	if found := find(t, c, p, time.Now(), platformtest.NewMemo()); found.Outcome != platforms.Absent {
		t.Errorf("found %+v, want nothing", found)
	}
	_, err := c.Find(t.Context(), p, time.Now(), platformtest.NewMemo())
	failureOf(t, err, platforms.Unavailable)
	m := platformtest.NewMemo()
	mustPublish(t, c, p, m)
	if found := find(t, c, p, time.Now().Add(-time.Minute), m); found.Outcome != platforms.Present || s.Calls("freepublish/batchget") != 2 {
		t.Errorf("found %+v after %d lists of publications; want the draft, without a list", found, s.Calls("freepublish/batchget"))
	}
}

func TestCopiesAreTold(t *testing.T) {
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	p := simple(t, c)
	m := platformtest.NewMemo()
	own := mustPublish(t, c, p, m)
	double := mustPublish(t, c, p, platformtest.NewMemo())
	found := find(t, c, p, time.Now().Add(-time.Minute), m)
	if found.Receipt.ID != own.ID || len(found.Twins) != 1 || found.Twins[0].ID != double.ID {
		t.Fatalf("found %+v, want %s and the copy %s", found, own.ID, double.ID)
	}
	if err := c.Withdraw(t.Context(), found.Twins[0]); err != nil || len(s.Drafts()) != 1 {
		t.Errorf("copy not taken back: %v", err)
	}
}

func TestADraftThatAnEditorTookOnIsNotMadeAgain(t *testing.T) {
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	p, m, began := simple(t, c), platformtest.NewMemo(), time.Now().Add(-time.Minute)
	r := mustPublish(t, c, p, m)
	address := s.PublishByHand(r.ID)
	if found := find(t, c, p, began, m); found.Outcome != platforms.Present || found.Receipt.URL != address || isDraft(found.Receipt) {
		t.Errorf("found %+v, want the article at %s", found, address)
	}
	s.Configure(func(o *wechattest.Options) { o.NoPublish = true }) // and where nobody can tell
	found := find(t, c, p, began, m)
	if found.Outcome != platforms.Present || found.Receipt.ID != r.ID || !strings.Contains(found.Receipt.Note, "left the draft box") {
		t.Errorf("found %+v, want the draft and that it has gone", found)
	}
	if again := mustPublish(t, c, p, m); again.ID != r.ID || s.Calls("draft/add") != 1 {
		t.Errorf("published again: %+v", again)
	}
}

func TestWithdrawingADraftThatIsGone(t *testing.T) {
	for _, deletedTwice := range []int{0, 40007} {
		s := wechattest.New(wechattest.Options{DeletedTwice: deletedTwice})
		c := open(t, s)
		p := simple(t, c)
		gone := mustPublish(t, c, p, platformtest.NewMemo())
		s.RemoveDraft(gone.ID)
		if err := c.Withdraw(t.Context(), gone); err != nil {
			t.Errorf("a draft that was deleted by hand: %v", err)
		}
		taken := mustPublish(t, c, p, platformtest.NewMemo())
		address := s.PublishByHand(taken.ID)
		e := failureOf(t, c.Withdraw(t.Context(), taken), platforms.Rejected)
		if !strings.Contains(e.Message, address) || len(s.Publications()) != 1 {
			t.Errorf("a draft that was published by hand: %v, want its address", e)
		}
	}
}

func TestWithdrawingAnArticle(t *testing.T) {
	s := wechattest.New(wechattest.Options{})
	c := open(t, s, publishing)
	p := simple(t, c)
	r := mustPublish(t, c, p, platformtest.NewMemo())
	r, err := c.Review(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	s.Reserve(r.ID)
	if e := failureOf(t, c.Withdraw(t.Context(), r), platforms.Rejected); e.Code != "40204" {
		t.Errorf("error = %v, want 40204", e)
	}
	e := failureOf(t, c.Withdraw(t.Context(), platforms.Receipt{ID: r.URL, URL: r.URL}), platforms.Rejected)
	if !strings.Contains(e.Message, "by hand") || s.Calls("freepublish/delete") != 1 {
		t.Errorf("an address that a person entered: %v", e)
	}
}

func TestWhatReadersSeeIsNotChanged(t *testing.T) {
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	p, m := simple(t, c), platformtest.NewMemo()
	r := mustPublish(t, c, p, m)
	s.Script("draft/update", 1, s.Answer(40007)) // of the cover, say
	_, err := c.Update(t.Context(), p, r, m)
	failureOf(t, err, platforms.Unavailable)
	if _, err := c.Update(t.Context(), p, r, m); err != nil {
		t.Error(err)
	}
	s.PublishByHand(r.ID)
	_, err = c.Update(t.Context(), p, r, m)
	if e := failureOf(t, err, platforms.Rejected); !strings.Contains(e.Message, "left the draft box") {
		t.Errorf("error = %v", e)
	}
	_, err = c.Update(t.Context(), p, platforms.Receipt{ID: "article", Mark: "{}"}, m)
	if e := failureOf(t, err, platforms.Rejected); !strings.Contains(e.Message, "herald republish") {
		t.Errorf("error = %v", e)
	}
}

func TestAReviewEndsAsThePlatformDecides(t *testing.T) {
	tests := []struct {
		status int
		kind   platforms.Kind
		says   string
	}{
		{0, "", ""},
		{1, "", ""},
		{2, platforms.Rejected, "originality"},
		{3, platforms.Rejected, "herald retry"},
		{4, platforms.Rejected, "review refused"},
		{5, platforms.Rejected, "deleted by the owner"},
		{6, platforms.Rejected, "taken down"},
		{9, platforms.Unknown, "not known"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			s := wechattest.New(wechattest.Options{Statuses: []int{tt.status}, NumericIDs: true})
			c := open(t, s, publishing)
			p, m := simple(t, c), platformtest.NewMemo()
			pending := mustPublish(t, c, p, m)
			r, err := c.Review(t.Context(), pending)
			if tt.kind != "" {
				if e := failureOf(t, err, tt.kind); !strings.Contains(e.Message, tt.says) || e.Code == "" {
					t.Errorf("error = %v, want it to say %q", e, tt.says)
				}
				return
			}
			if err != nil || r.Pending != (tt.status == 1) || r.Pending == (r.URL != "") {
				t.Errorf("receipt %+v, %v", r, err)
			}
		})
	}
}

func TestARefusedPublicationIsSubmittedAgainWhenAPersonSaysSo(t *testing.T) {
	s := wechattest.New(wechattest.Options{Statuses: []int{3}})
	c := open(t, s, publishing)
	p, m := simple(t, c), platformtest.NewMemo()
	r := mustPublish(t, c, p, m)
	if found := find(t, c, p, time.Now().Add(-time.Minute), m); found.Receipt.ID != r.ID || !found.Receipt.Pending {
		t.Errorf("found %+v, want the submission %+v, for its review to tell", found, r)
	}
	s.Configure(func(o *wechattest.Options) { o.Statuses = []int{0} })
	again := mustPublish(t, c, p, m)
	if again.ID == r.ID || len(s.Publications()) != 1 || s.Calls("draft/add") != 1 {
		t.Errorf("receipts %s and %s, %d publications; want another submission of the same draft", r.ID, again.ID, len(s.Publications()))
	}
}

func TestPollsKeepToTheDaysAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := wechattest.New(wechattest.Options{Statuses: []int{1}})
		c := open(t, s, publishing, func(c *Config) { c.PollsPerDay = 3 })
		r := mustPublish(t, c, simple(t, c), platformtest.NewMemo())
		poll := func(times, want int) {
			t.Helper()
			for range times {
				next, err := c.Review(t.Context(), r)
				if err != nil || next != r {
					t.Fatalf("review: %+v, %v; want it still pending", next, err)
				}
			}
			if n := s.Calls("freepublish/get"); n != want {
				t.Errorf("%d polls, want %d", n, want)
			}
		}
		poll(5, 3)
		time.Sleep(24 * time.Hour)
		poll(5, 6)
		time.Sleep(24 * time.Hour)
		s.Script("freepublish/get", 1, s.Answer(45009)) // others poll too
		poll(1, 7)
	})
}

func TestAForgottenJobIsLookedUp(t *testing.T) {
	s := wechattest.New(wechattest.Options{})
	c := open(t, s, publishing)
	p, m := simple(t, c), platformtest.NewMemo()
	r := mustPublish(t, c, p, m)
	s.Script("freepublish/get", 0, s.Answer(53502))
	_, err := c.Review(t.Context(), r)
	failureOf(t, err, platforms.Uncertain)
	found := find(t, c, p, time.Now().Add(-time.Minute), m)
	if found.Outcome != platforms.Present || found.Receipt.URL == "" {
		t.Errorf("found %+v, want the article", found)
	}
}

func TestAGatewaysPageIsNoAnswer(t *testing.T) {
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	s.Script("draft/count", 1, wechattest.AnswerStatus(http.StatusBadGateway))
	failureOf(t, c.Probe(t.Context()), platforms.Unavailable)
	s.Script("draft/count", 1, wechattest.AnswerStatus(http.StatusOK))
	failureOf(t, c.Probe(t.Context()), platforms.Unavailable)
	s.Script("draft/add", 1, wechattest.AnswerStatus(http.StatusOK))
	_, err := c.Publish(t.Context(), simple(t, c), platformtest.NewMemo())
	failureOf(t, err, platforms.Uncertain)
}
