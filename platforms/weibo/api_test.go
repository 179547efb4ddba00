package weibo

import (
	"testing"
	"time"

	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/weibo/weibotest"
)

func TestAnIDBecomesItsAddress(t *testing.T) {
	for id, want := range map[string]string{
		"4404101091169383": "I1IGF4Ud1",
		"4331051486294436": "Hd1N2qpta",
		"3504803600502730": "z20XK26My",
		"10000000":         "10000",
		"":                 "",
		"abc":              "abc",
	} {
		if got := base62(id); got != want {
			t.Errorf("base62(%s) = %s, want %s", id, got, want)
		}
	}
}

func TestAnAnswerWithoutPostsIsNoAbsenceOrPresence(t *testing.T) {
	w := newWorld(t, weibotest.Options{})
	p, m := w.post(t, "甲"), platformtest.NewMemo()
	w.Script("statuses/user_timeline", 1, raw(200, `{}`))
	if found, err := w.Find(t.Context(), p, time.Now(), m); platforms.KindOf(err) != platforms.Unavailable {
		t.Errorf("no list: %+v, %v; want unavailable", found, err)
	}
	if _, err := w.Publish(t.Context(), p, m); err != nil {
		t.Fatal(err)
	}
	w.Script("statuses/show", 1, raw(200, `{}`))
	if found, err := w.Find(t.Context(), p, time.Now().Add(time.Minute), m); platforms.KindOf(err) != platforms.Unavailable {
		t.Errorf("no post: %+v, %v; want unavailable", found, err)
	}
}
