package xiaohongshu

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/xiaohongshu/xiaohongshutest"
)

func TestANoteThatFellOutOfTheListIsAskedForByItsID(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{Page: 3, Pinned: "置顶"})
	p, m := w.post(t, "甲"), platformtest.NewMemo()
	since := began()
	r, err := w.Publish(t.Context(), p, m)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.Add("更新的", time.Now())
	}
	if found, err := w.Find(t.Context(), p, since, m); err != nil || found.Outcome != platforms.Present || found.Receipt != r {
		t.Errorf("found %+v, %v; want it", found, err)
	}
	w.Delete(r.ID)
	if found, err := w.Find(t.Context(), p, since, m); err != nil || found.Outcome != platforms.Absent {
		t.Errorf("deleted by hand: found %+v, %v; want Absent", found, err)
	}
}

func TestASurplusCopyIsNamed(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	p, m := w.post(t, "甲"), platformtest.NewMemo()
	since := began()
	if _, err := w.Publish(t.Context(), p, m); err != nil {
		t.Fatal(err)
	}
	w.Add("甲", time.Now())
	found, err := w.Find(t.Context(), p, since, m)
	if err != nil || found.Receipt.ID != w.Notes()[0].ID || len(found.Twins) != 1 || found.Twins[0].ID != w.Notes()[1].ID {
		t.Errorf("found %+v, %v; want the first and one twin", found, err)
	}
}

func TestTheNoteOfAnotherArticleWithTheSameTitleIsNotTaken(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	a, m := w.post(t, "周报"), platformtest.NewMemo()
	since := began()
	w.Script(publish, 1, xiaohongshutest.FailToPublish("没有找到发布 TAB - 上传图文"))
	if _, err := w.Publish(t.Context(), a, m); platforms.KindOf(err) != platforms.Dependency {
		t.Fatal(err)
	}
	b := a
	b.Key = "another key"
	other, err := w.Publish(t.Context(), b, platformtest.NewMemo())
	if err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	if found, err := w.Find(t.Context(), a, since, m); err != nil || found.Outcome != platforms.Absent {
		t.Errorf("found %+v, %v; want Absent", found, err)
	}
	r, err := w.Publish(t.Context(), a, m)
	if err != nil || r.ID == other.ID || len(w.Notes()) != 2 {
		t.Errorf("receipt %+v, %v, %d notes; want one of its own", r, err, len(w.Notes()))
	}
}

func TestWithoutASnapshotTheTimeOfAnIDTells(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	w.Add("甲", time.Now())
	p := w.post(t, "甲")
	for since, want := range map[time.Duration]platforms.Outcome{-2 * time.Second: platforms.Present, time.Minute: platforms.Absent} {
		found, err := w.Find(t.Context(), p, time.Now().Add(since), platformtest.NewMemo())
		if err != nil || found.Outcome != want {
			t.Errorf("since %v: found %+v, %v", since, found, err)
		}
	}
}

func TestANoteThatIsListedLateIsFoundAndNotRepeated(t *testing.T) { // B37
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, xiaohongshutest.Options{Lag: 3 * time.Minute})
		p, m := w.post(t, "甲"), platformtest.NewMemo()
		since := began()
		_, err := w.Publish(t.Context(), p, m)
		if e := failed(t, err); e.Kind != platforms.Uncertain || e.Code != platforms.CodeNoID {
			t.Fatalf("got %+v, want uncertain without an id", e)
		}
		for minute, want := range []platforms.Outcome{platforms.Absent, platforms.Absent, platforms.Absent, platforms.Present} {
			if found, err := w.Find(t.Context(), p, since, m); err != nil || found.Outcome != want {
				t.Errorf("after %d minutes: found %+v, %v; want %v", minute, found, err, want)
			}
			<-time.After(time.Minute)
		}
		if w.Calls(publish) != 1 || Advice.AbsentAfter < 3*time.Minute || Advice.AbsentTimes < 2 {
			t.Errorf("%d calls; advised to believe an absence after %v and %d looks", w.Calls(publish), Advice.AbsentAfter, Advice.AbsentTimes)
		}
	})
}

func TestAListThatDoesNotGoBackSaysNothingOfAbsence(t *testing.T) {
	tests := []struct {
		name           string
		before, behind int // notes of before the attempt, and of after it
		page           int
		sight          bool
	}{
		{"the account's first notes", 0, 2, 3, true},
		{"the page reaches back", 3, 1, 3, true},
		{"all are listed", 1, 2, 4, true},
		{"only newer ones are listed", 3, 4, 3, false},
	}
	for _, tt := range tests {
		w := newWorld(t, xiaohongshutest.Options{Page: tt.page, Pinned: "置顶"})
		for range tt.before {
			w.Add("以前的", time.Now().Add(-time.Hour))
		}
		p, m := w.post(t, "甲"), platformtest.NewMemo()
		since := began()
		w.Script(publish, 1, xiaohongshutest.LoseReply())
		_, _ = w.Publish(t.Context(), p, m)
		w.Delete(w.Notes()[tt.before].ID)
		for range tt.behind {
			w.Add("更新的", time.Now())
		}
		found, err := w.Find(t.Context(), p, since, m)
		if found.Outcome != platforms.Absent || (err == nil) != tt.sight {
			t.Errorf("%s: found %+v, %v", tt.name, found, err)
		}
		_, err = w.Publish(t.Context(), p, m)
		if sent := w.Calls(publish) == 2; sent != tt.sight {
			t.Errorf("%s: sent again %v, %v", tt.name, sent, err)
		}
		if e, ok := errors.AsType[*platforms.Error](err); !tt.sight && (!ok || e.Code != platforms.CodeNoID) {
			t.Errorf("%s: %v, want a look by a person", tt.name, err)
		}
	}
}

func TestAListThatIsEmptyThoughThereWereNotesSaysNothingOfAbsence(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	w.Add("以前的", time.Now().Add(-time.Hour))
	p, m := w.post(t, "甲"), platformtest.NewMemo()
	since := began()
	w.Script(publish, 1, xiaohongshutest.LoseReply())
	_, _ = w.Publish(t.Context(), p, m)
	w.Script(me, 1, raw(`{"success":true,"data":{"data":{"feeds":[]}}}`))
	if found, err := w.Find(t.Context(), p, since, m); platforms.KindOf(err) != platforms.Uncertain {
		t.Errorf("found %+v, %v; want uncertain", found, err)
	}
}
