package xiaohongshu

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/xiaohongshu/xiaohongshutest"
)

// raw does nothing and answers 200 with a body.
func raw(body string) xiaohongshutest.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) { _, _ = io.WriteString(w, body) }
}

func TestNotesAreReadOutOfOneOrTwoWrappings(t *testing.T) {
	const notes = `"feeds":[{"id":"1"},{"id":"2"}]`
	for body, want := range map[string]int{
		`{"success":true,"data":{` + notes + `}}`:           2,
		`{"success":true,"data":{"data":{` + notes + `}}}`:  2,
		`{"success":true,"data":{"data":{"feeds":[]}}}`:     0,
		`{"success":true,"data":{"data":{"feeds":null}}}`:   0,
		`{"success":true,"data":{"data":{"feeds":"none"}}}`: -1,
		`{"success":true,"data":{"data":{"nickname":"甲"}}}`: -1,
		`{"success":true,"data":null}`:                      -1,
		`{"data":{"data":{` + notes + `}}}`:                 -1,
		`{}`:                                                -1,
		`<html>`:                                            -1,
	} {
		w := newWorld(t, xiaohongshutest.Options{})
		w.Script(me, 1, raw(body))
		got, err := w.notes(t.Context())
		if want < 0 && platforms.KindOf(err) != platforms.Dependency || want >= 0 && (err != nil || len(got) != want) {
			t.Errorf("%s: %d notes, %v; want %d", body, len(got), err, want)
		}
	}
}

func TestAnAnswerThatTellsNothingIsNoAbsenceNoPresenceAndNoLostSession(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	p, m := w.post(t, "甲"), platformtest.NewMemo()
	w.Script(me, 1, raw(`{}`))
	if found, err := w.Find(t.Context(), p, began(), m); platforms.KindOf(err) != platforms.Dependency {
		t.Errorf("no list: found %+v, %v; want dependency", found, err)
	}
	r, err := w.Publish(t.Context(), p, m)
	if err != nil {
		t.Fatal(err)
	}
	w.Delete(r.ID)
	for _, body := range []string{`{}`, `{"success":true,"data":{"feed_id":"1"}}`} {
		w.Script("POST /api/v1/feeds/detail", 1, raw(body))
		if found, err := w.Find(t.Context(), p, began(), m); platforms.KindOf(err) != platforms.Dependency {
			t.Errorf("%s: found %+v, %v; want dependency", body, found, err)
		}
	}
	w.Script("GET /api/v1/login/status", 1, raw(`{}`))
	if err := w.Probe(t.Context()); platforms.KindOf(err) != platforms.Dependency {
		t.Errorf("no state: %v, want dependency", err)
	}
}

func TestAPublicationWithoutAVerdictIsUncertain(t *testing.T) {
	for _, body := range []string{`{}`, `{"success":false}`, `<html>`} {
		w := newWorld(t, xiaohongshutest.Options{})
		w.Script(publish, 1, raw(body))
		_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
		if platforms.KindOf(err) != platforms.Uncertain {
			t.Errorf("%s: %v, want uncertain", body, err)
		}
	}
}

func TestThePanicOfABrowserIsToldWithItsReason(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	w.Script("GET /api/v1/login/status", 1, xiaohongshutest.Answer("INTERNAL_ERROR", map[string]string{"Reason": "net::ERR_TIMED_OUT"}))
	if e := failed(t, w.Probe(t.Context())); e.Kind != platforms.Dependency || !strings.Contains(e.Message, "net::ERR_TIMED_OUT") {
		t.Errorf("got %+v, want dependency with the reason", e)
	}
}
