package weibo

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/weibo/weibotest"
)

// Two posts of which the platform shows five could hide one another.
func TestAnUnresolvedPostKeepsOthersWaiting(t *testing.T) {
	for _, fault := range []struct {
		name string
		weibotest.Fault
		appears bool
	}{
		{"lost but there", weibotest.LoseReply(), true},
		{"lost and not there", weibotest.Refuse(), false},
	} {
		t.Run(fault.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, weibotest.Options{})
				a, m := w.post(t, "甲"), platformtest.NewMemo()
				began := time.Now().Add(-2 * time.Second)
				w.Script("statuses/share", 1, fault.Fault)
				if _, err := w.Publish(t.Context(), a, m); platforms.KindOf(err) != platforms.Uncertain {
					t.Fatalf("error %v, want uncertain", err)
				}
				w.restart(t) // it is remembered
				waits := func() bool {
					t.Helper()
					before := w.Calls("")
					_, err := w.Publish(t.Context(), w.post(t, "乙"), platformtest.NewMemo())
					if platforms.KindOf(err) == platforms.RateLimited {
						if e := failed(t, err); !e.RetryAt.After(time.Now()) || w.Calls("") != before {
							t.Errorf("until %v with %d calls", e.RetryAt, w.Calls("")-before)
						}
						return true
					}
					if err != nil {
						t.Fatal(err)
					}
					return false
				}
				if !waits() {
					t.Fatal("the second post was sent")
				}
				look := func() {
					t.Helper()
					found, err := w.Find(t.Context(), a, began, m)
					if err != nil || (found.Outcome == platforms.Present) != fault.appears {
						t.Fatalf("found %+v, %v", found, err)
					}
				}
				look()
				if !fault.appears {
					if !waits() {
						t.Error("an early look-up that finds nothing settled the first post")
					}
					<-time.After(absentAfter + time.Second)
					look()
				}
				if waits() {
					t.Error("the second post waits, though the first one is settled")
				}
			})
		})
	}
}

func TestAPostThatNobodySettlesKeepsOthersWaitingForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, weibotest.Options{})
		w.Script("statuses/share", 1, weibotest.Refuse())
		_, _ = w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
		<-time.After(openFor)
		if _, err := w.Publish(t.Context(), w.post(t, "乙"), platformtest.NewMemo()); err != nil {
			t.Error(err)
		}
	})
}

func TestARefusedPostKeepsNobodyWaiting(t *testing.T) {
	w := newWorld(t, weibotest.Options{})
	w.Script("statuses/share", 1, weibotest.Answer(20021))
	if _, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo()); platforms.KindOf(err) != platforms.Rejected {
		t.Fatal(err)
	}
	if _, err := w.Publish(t.Context(), w.post(t, "乙"), platformtest.NewMemo()); err != nil {
		t.Error(err)
	}
}

func TestTwoPostsOfOneAccountAreSentOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, weibotest.Options{})
		w.Script("statuses/share", 1, weibotest.Delay(20*time.Second))
		go func() { _, _ = w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := w.Publish(ctx, w.post(t, "乙"), platformtest.NewMemo())
		if platforms.KindOf(err) != platforms.Unavailable {
			t.Errorf("error %v, want unavailable: it never had its turn", err)
		}
		if n := w.Calls("statuses/share"); n != 1 {
			t.Errorf("%d calls at once, want 1", n)
		}
		<-time.After(15 * time.Second)
		if _, err := w.Publish(t.Context(), w.post(t, "丙"), platformtest.NewMemo()); err != nil {
			t.Error(err)
		}
	})
}
