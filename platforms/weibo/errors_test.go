package weibo

import (
	"encoding/csv"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/weibo/weibotest"
)

// kinds are what the classes of the table of codes mean for statuses/share.
var kinds = map[string][]platforms.Kind{
	"transient":        {platforms.Unavailable, platforms.Uncertain},
	"rate_limited":     {platforms.RateLimited},
	"config_auth":      {platforms.Unauthorized},
	"content_rejected": {platforms.Rejected},
	"request_bug":      {platforms.Invalid},
	"state":            {platforms.Exists},
	// Codes of other interfaces are in no table: should one come, the post is
	// looked up.
	"not_applicable": {platforms.Unknown},
}

// special are the codes that mean more than their number says.
var special = map[string]platforms.Kind{
	codePostedLate: platforms.Uncertain, // never sent again
	codeGone:       platforms.Unknown,   // of a look-up: it is absent
}

func table(t *testing.T) [][]string {
	t.Helper()
	f, err := os.Open("testdata/errcodes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func TestEveryCodeOfTheTableHasItsKind(t *testing.T) {
	rows := table(t)
	if len(rows) != 149 {
		t.Errorf("the table has %d codes, want 149", len(rows))
	}
	listed := map[string]bool{}
	w := newWorld(t, weibotest.Options{})
	for _, row := range rows {
		code, class := row[0], row[2]
		listed[code] = true
		n, err := strconv.Atoi(code)
		if err != nil {
			t.Fatal(err)
		}
		w.restart(t)
		w.Script("statuses/share", 1, weibotest.AnswerText(n, "said in other words"))
		_, err = w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
		got := platforms.KindOf(err)
		if want, ok := special[code]; ok {
			if got != want {
				t.Errorf("%s (%s): kind %q, want %q", code, class, got, want)
			}
			continue
		}
		e := failed(t, err)
		if e.Code != code {
			t.Errorf("%s: code %q", code, e.Code)
		}
		if note := row[len(row)-1]; strings.Contains(note, "re-authorise") && !strings.Contains(e.Message, authoriseAgain) {
			t.Errorf("%s (%s): %q does not say so", code, note, e.Message)
		}
		if want := kinds[class]; len(want) == 0 || got != want[0] && got != want[len(want)-1] {
			t.Errorf("%s (%s): kind %q, want one of %q", code, class, got, want)
		}
	}
	for code := range Codes {
		if !listed[code] {
			t.Errorf("code %s is not in the table", code)
		}
	}
}

func TestTheTextOfAParameterErrorTellsItsKind(t *testing.T) { // B94
	tests := []struct {
		text string
		kind platforms.Kind
		hint string
	}{
		{"text not find domain!", platforms.Rejected, "link_domain"},
		{"Text not find domain", platforms.Rejected, "link_domain"},
		{"appkey not bind domain!", platforms.Unauthorized, "security domain"},
		{"text can not contain topic!", platforms.Invalid, ""},
	}
	for _, tt := range tests {
		w := newWorld(t, weibotest.Options{})
		w.Script("statuses/share", 1, weibotest.AnswerText(10017, tt.text))
		_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
		if e := failed(t, err); e.Kind != tt.kind || e.Code != "10017" || !strings.Contains(e.Message, tt.hint) {
			t.Errorf("%s: got %+v, want %s", tt.text, e, tt.kind)
		}
		if n := w.Calls("statuses/share"); n != 1 {
			t.Errorf("%s: %d calls, want 1", tt.text, n)
		}
	}
}

func TestAMissingPermissionSaysWhatToDo(t *testing.T) { // B94
	w := newWorld(t, weibotest.Options{})
	w.Script("statuses/share", 1, weibotest.Answer(10014))
	_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
	e := failed(t, err)
	if e.Kind != platforms.Unauthorized || e.Message != "Insufficient app permissions: the app may not use statuses/share: it has to be approved at open.weibo.com" {
		t.Errorf("got %+v", e)
	}
	if n := w.Calls("statuses/share"); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// raw does nothing and answers with a status and a body.
func raw(status int, body string) weibotest.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestAnInternalFaultLeavesThePostInDoubt(t *testing.T) {
	for _, code := range []int{10001, 10003, 10010, 10011} {
		w := newWorld(t, weibotest.Options{})
		w.Script("statuses/share", 1, weibotest.Answer(code))
		_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
		if got := platforms.KindOf(err); got != platforms.Uncertain {
			t.Errorf("%d: kind %q, want uncertain", code, got)
		}
	}
}

func TestTheCodeDecidesAndTheStatusOnlyWithoutOne(t *testing.T) {
	tests := []struct {
		name  string
		fault weibotest.Fault
		bare  bool
		kind  platforms.Kind
		code  string
	}{
		{"a code with 400", weibotest.Answer(20016), false, platforms.RateLimited, "20016"},
		{"a code with 200", raw(200, `{"error":"out of limit","error_code":20016}`), false, platforms.RateLimited, "20016"},
		{"a code with 502", raw(502, `{"error":"repeat content!","error_code":20019}`), false, platforms.Exists, "20019"},
		{"a code in quotes", raw(400, `{"error":"repeat content!","error_code":"20019"}`), false, platforms.Exists, "20019"},
		{"403 without JSON", weibotest.AnswerStatus(403), false, platforms.Unauthorized, "403"}, // B21
		{"502 without JSON", weibotest.AnswerStatus(502), false, platforms.Uncertain, "502"},
		{"429 without JSON", weibotest.AnswerStatus(429), false, platforms.RateLimited, "429"},
		{"an error of a mute gateway", nil, true, platforms.Unauthorized, "401"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, weibotest.Options{Bare: tt.bare, Withdrawn: tt.bare})
			if tt.fault != nil {
				w.Script("statuses/share", 1, tt.fault)
			}
			_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
			if e := failed(t, err); e.Kind != tt.kind || e.Code != tt.code || e.Message == "" {
				t.Errorf("got %+v, want %s %s", e, tt.kind, tt.code)
			}
		})
	}
}

func TestAnUncertainCodeOfAReadIsUnavailable(t *testing.T) {
	w := newWorld(t, weibotest.Options{})
	w.Script("oauth2/get_token_info", 1, weibotest.Answer(10001))
	if err := w.Probe(t.Context()); platforms.KindOf(err) != platforms.Unavailable {
		t.Errorf("error %v, want unavailable", err)
	}
}

func TestTheStatesOfAnAccountAreTold(t *testing.T) {
	tests := []struct {
		name    string
		options weibotest.Options
		code    string
	}{
		{"the user withdrew the grant", weibotest.Options{Withdrawn: true}, "21332"},
		{"in other words", weibotest.Options{Revoked: true}, "21319"},
		{"the token has expired", weibotest.Options{ExpiresIn: -1}, "21327"},
		{"the app is not audited", weibotest.Options{Unaudited: true}, "21321"},
		{"the app has no domain", weibotest.Options{NoDomain: true}, "10017"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.options)
			_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
			if e := failed(t, err); e.Kind != platforms.Unauthorized || e.Code != tt.code || !strings.Contains(e.Message, ": ") {
				t.Errorf("got %+v, want unauthorized %s with a hint", e, tt.code)
			}
		})
	}
}
