package degrade

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"herald/platforms"
)

type answer = func(http.ResponseWriter, *http.Request, call)

// hangs answers nothing until the client has gone.
func hangs(_ http.ResponseWriter, r *http.Request, _ call) { <-r.Context().Done() }

// drips sends a piece now and then and never ends.
func drips(piece string) answer {
	return func(w http.ResponseWriter, r *http.Request, _ call) {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}
}

// cuts sends the beginning of a reply and closes the connection.
func cuts(beginning string) answer {
	return func(w http.ResponseWriter, _ *http.Request, _ call) {
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = buf.WriteString(beginning)
		_ = buf.Flush()
		_ = conn.Close()
	}
}

func TestEveryBadAnswerEndsInPublicationWithItsReason(t *testing.T) { // B95, B98
	const noAnswer = "gave no answer within"
	quota := `{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`
	tests := []struct {
		name   string
		answer answer
		reason string
	}{
		{"prose", says("The article is good, I would give it eight of ten."), "no JSON object with a score"},
		{"empty content", says(""), "the answer is empty"},
		{"blank content", says(" \n\n "), "the answer is empty"},
		{"null content", status(200, `{"choices":[{"finish_reason":"stop","message":{"content":null}}]}`), "the answer is empty"},
		{"empty reply", status(200, ""), "the reply is empty"},
		{"blank reply", status(200, "\n\n\n"), "the reply is empty"},
		{"no choices", status(200, `{"choices":[]}`), "no chat completion"},
		{"a login page", status(200, "<html><title>Sign in</title></html>"), "no chat completion"},
		{"content in parts", status(200, `{"choices":[{"message":{"content":[{"type":"text","text":"{\"score\":1}"}]}}]}`), "no chat completion"},
		{"truncated JSON", says(`{"score": 0.9, "details": "it is`), "no JSON object with a score"},
		{"cut at the bound", status(200, completion(`{"score": 0.9}`, "length")), "cut at max_tokens"},
		{"content filter", status(200, completion("", "content_filter")), "content filter"},
		{"refusal field", status(200, `{"choices":[{"finish_reason":"stop","message":{"content":null,"refusal":"I cannot help."}}]}`), "it declined: I cannot help."},
		{"refusal in prose", says("I'm sorry, but I can't assist with that request."), "no JSON object with a score"},
		{"score of 11", says(`{"score": 11}`), "the score 11 is outside 0 to 1"},
		{"score of 82", says(`{"score": 82}`), "the score 82 is outside 0 to 1"},
		{"score of 11/10", says(`{"score": "11/10"}`), "the score 11/10 is outside 0 to 1"},
		{"negative score", says(`{"score": -0.5}`), "the score -0.5 is outside 0 to 1"},
		{"bare NaN", says(`{"score": NaN}`), "no JSON object with a score"},
		{"NaN as text", says(`{"score": "NaN"}`), `the score "NaN" is not a number`},
		{"infinite score", says(`{"score": 1e999}`), `the score "1e999" is not a number`},
		{"score in words", says(`{"score": "high"}`), `the score "high" is not a number`},
		{"score of null", says(`{"score": null}`), "is not a number"},
		{"no score", says(`{"pass": false, "details": "bad"}`), "no JSON object with a score"},
		{"keys in another language", says(`{"评分": 0.2, "通过": false}`), "no JSON object with a score"},
		{"two scores", says(`For example {"score": 1.0} but I say {"score": 0.2}`), "different scores"},
		{"500", status(500, `{"error":{"message":"oops"}}`), "is not available (500 oops)"},
		{"502 page", status(502, "<html><title>502 Bad Gateway</title></html>"), "is not available (502 502 Bad Gateway)"},
		{"503 without a time", status(503, ""), "is not available (503 Service Unavailable)"},
		{"529", status(529, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`), "is not available (529 Overloaded)"},
		{"error with status 200", status(200, `{"error":{"message":"upstream is gone","code":"oops"}}`), "is not available (200 upstream is gone)"},
		{"429 too fast", status(429, `{"error":{"code":"rate_limit_exceeded","message":"slow down"}}`), "asks to slow down (rate_limit_exceeded slow down)"},
		{"429 without a body", status(429, ""), "asks to slow down (429 Too Many Requests)"},
		{"429 without quota", status(429, quota), "has no quota left: top up the account"},
		{"402", status(402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`), "has no quota left: top up the account or take the provider out (402 Insufficient Balance)"},
		{"arrears", status(400, `{"error":{"code":"Arrearage","message":"Access denied"}}`), "has no quota left"},
		{"401", status(401, `{"error":{"code":"invalid_api_key","message":"Incorrect API key provided: `+key+`"}}`), "refuses the account: correct api_key or its rights (invalid_api_key Incorrect API key provided: [redacted])"},
		{"404 for the model", status(404, `{"error":{"message":"model 'm1' not found","type":"not_found_error"}}`), "does not know the address or the model"},
		{"content inspection", status(400, `{"error":{"code":"data_inspection_failed","message":"inappropriate"}}`), "declines to judge this text"},
		{"400 whatever is asked", status(400, `{"error":{"message":"bad"}}`), "does not take the request (400 bad)"},
		{"error as a text", status(503, `{"error":"starting"}`), "is not available (503 starting)"},
		{"redirect", func(w http.ResponseWriter, r *http.Request, _ call) {
			http.Redirect(w, r, "/elsewhere?token="+key, http.StatusFound)
		}, "redirected to"},
		{"hang", hangs, noAnswer},
		{"slow drip", drips(" x"), noAnswer},
		{"blank lines to keep alive", drips("\n"), noAnswer},
		{"too long a reply", func(w http.ResponseWriter, _ *http.Request, _ call) {
			_, _ = io.WriteString(w, strings.Repeat(" ", maxReply+1)+completion(`{"score": 1}`, "stop"))
		}, "is not available (200"},
		{"cut before the reply", cuts(""), "is not available"},
		{"cut in the reply", cuts("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{\"choices\":"), "is not available (200"},
	}
	a := load(t, plainText)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, provider := start(t, tt.answer)
			provider.BaseURL += "?api-version=" + key
			deadline := 20 * time.Second
			if tt.reason == noAnswer {
				deadline = 300 * time.Millisecond
			}
			j := newJudge(t, Options{Providers: []Provider{provider}, Deadline: deadline})
			began := time.Now()
			v := j.Judge(t.Context(), a, Subject{Now: noon})
			if took := time.Since(began); took > deadline+10*time.Second {
				t.Errorf("it took %v", took)
			}
			if !v.Pass || v.By != ByBasic || !v.Degraded || v.Score != nil || !v.At.Equal(noon) {
				t.Errorf("verdict %+v", v)
			}
			if !strings.Contains(v.Reason, tt.reason) || !strings.HasPrefix(v.Reason, "m1 at 127.0.0.1:") {
				t.Errorf("reason %q, want %q in it", v.Reason, tt.reason)
			}
			if !strings.Contains(v.Details, v.Reason) || !strings.Contains(v.Details, "The basic check decides.") {
				t.Errorf("details %q", v.Details)
			}
			if shown, err := json.Marshal(v); err != nil || strings.Contains(string(shown), key) {
				t.Errorf("a secret is told: %s, %v", shown, err)
			}
		})
	}
}

func TestARefusedConnectionTellsNoSecret(t *testing.T) { // B98
	var log bytes.Buffer
	j := newJudge(t, Options{
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Providers: []Provider{{
			BaseURL: "http://user:" + key + "@127.0.0.1:1/v1?key=" + key, APIKey: key, Model: "m1",
			Headers: map[string]platforms.Secret{"X-Key": key},
		}},
	})
	v := j.Judge(t.Context(), load(t, plainText), Subject{Now: noon})
	if text := log.String(); strings.Contains(text, key) || !strings.Contains(text, "no verdict from the quality service") {
		t.Errorf("logged %s", text)
	}
	if !v.Pass || !strings.Contains(v.Reason, "connection refused") || strings.Contains(v.Reason, key) || strings.Contains(v.Reason, "?") {
		t.Errorf("verdict %+v", v)
	}
}

func TestAServiceThatAnswersScoresTheArticle(t *testing.T) {
	half := 0.5
	tests := []struct {
		name string
		// content is the answer; score what it means.
		content string
		score   float64
		details string
		issues  []Issue
	}{
		{"as asked", `{"score": 0.82, "pass": false, "details": "Sound.", "issues": [{"passage":"p","problem":"q","suggestion":"s"}]}`, 0.82, "Sound.", []Issue{{"p", "q", "s"}}},
		{"score alone", `{"score":1}`, 1, "", nil},
		{"zero", `{"score":0,"pass":true}`, 0, "", nil},
		{"fenced", "```json\n{\"score\": 0.9}\n```", 0.9, "", nil},
		{"fence without a name, in prose", "Here it is:\n```\n{\"score\": 0.9}\n```\nThanks!", 0.9, "", nil},
		{"prose and JSON", "My verdict {as asked} is {\"score\": 0.75, \"details\": \"Ok.\"}.", 0.75, "Ok.", nil},
		{"JSON with a fence inside", `{"score": 0.6, "details": "The block ` + "```go {x} ```" + ` is not closed."}`, 0.6, "The block ```go {x} ``` is not closed.", nil},
		{"blank lines around", "\n\n\n {\"score\": 0.9} \n\n", 0.9, "", nil},
		{"byte order mark", "\ufeff{\"score\": 0.9}", 0.9, "", nil},
		{"thinking first", "<think>{\"score\": 0.1} no</think>{\"score\": 0.9}", 0.9, "", nil},
		{"the same twice", "{\"score\": 0.9}\n{\"score\": 0.9}", 0.9, "", nil},
		{"8/10", `{"score":"8/10"}`, 0.8, "", nil},
		{"text", `{"score":" 0.82 "}`, 0.82, "", nil},
		{"percent", `{"score":"82%"}`, 0.82, "", nil},
		{"negative zero", `{"score":-0}`, 0, "", nil},
		{"details of a wrong type", `{"score":0.9,"details":["a"],"issues":"none","pass":"maybe"}`, 0.9, "", nil},
		{"issues of all sorts", `{"score":0.9,"issues":["loose",{"problem":"x","passage":7},7,null,{"passage":"alone"}]}`, 0.9, "", []Issue{{Problem: "loose"}, {Problem: "x"}}},
		{"details in another language", `{"score":0.9,"details":"文章很好。"}`, 0.9, "文章很好。", nil},
		{"details that would move the cursor", `{"score":0.9,"details":"a\u001b[2Jb\nc"}`, 0.9, "a[2Jb c", nil},
	}
	a := load(t, plainText)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, provider := start(t, says(tt.content))
			j := newJudge(t, Options{Providers: []Provider{provider}})
			v := j.Judge(t.Context(), a, Subject{Now: noon, Previous: &Verdict{Score: &half}})
			if v.By != ByAI || v.Degraded || v.Stale || v.Reason != "" || v.Score == nil {
				t.Fatalf("verdict %+v", v)
			}
			if *v.Score != tt.score || v.Pass != (tt.score >= 0.7) || v.Opinion != tt.details {
				t.Errorf("score %v, pass %v, opinion %q", *v.Score, v.Pass, v.Opinion)
			}
			if diff := cmp.Diff(tt.issues, v.Issues); diff != "" {
				t.Errorf("issues -want +got\n%s", diff)
			}
			if v.Model != "m1" || !strings.HasPrefix(v.Provider, "127.0.0.1:") || !v.At.Equal(noon) {
				t.Errorf("from %q %q at %v", v.Provider, v.Model, v.At)
			}
		})
	}
}

func TestABlankPaddedReplyIsRead(t *testing.T) {
	_, provider := start(t, func(w http.ResponseWriter, r *http.Request, c call) {
		for range 3 {
			_, _ = io.WriteString(w, "\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, completion(`{"score": 0.9}`, "stop"))
	})
	if v := newJudge(t, Options{Providers: []Provider{provider}}).Judge(t.Context(), load(t, plainText), Subject{}); v.Score == nil || *v.Score != 0.9 {
		t.Errorf("verdict %+v", v)
	}
}

func TestALowScoreHoldsWithItsReasons(t *testing.T) {
	_, provider := start(t, says(`{"score":0.4,"details":"It contradicts itself.","issues":[{"passage":"Some text","problem":"is wrong","suggestion":"mend it"}]}`))
	v := newJudge(t, Options{Providers: []Provider{provider}}).Judge(t.Context(), load(t, plainText), Subject{Now: noon})
	want := "The score 0.40 is below 0.70. It contradicts itself. “Some text”: is wrong (mend it)"
	if v.Pass || v.Degraded || v.Details != want {
		t.Errorf("pass %v, details %q, want %q", v.Pass, v.Details, want)
	}
}

func TestTheNextProviderIsAskedAndTheReasonKept(t *testing.T) {
	first, one := start(t, status(500, ""))
	second, two := start(t, scores(0.9))
	two.Model = "m2"
	v := newJudge(t, Options{Providers: []Provider{one, two}}).Judge(t.Context(), load(t, plainText), Subject{})
	if v.By != ByAI || v.Degraded || v.Model != "m2" || !strings.Contains(v.Reason, "m1 at ") {
		t.Errorf("verdict %+v", v)
	}
	if a, b := len(first.seen()), len(second.seen()); a != 1 || b != 1 {
		t.Errorf("%d and %d calls, want one each", a, b)
	}
}

func TestAnUnusableAnswerGetsOneMoreTry(t *testing.T) {
	s, provider := start(t, nil)
	s.becomes(func(w http.ResponseWriter, r *http.Request, c call) {
		s.becomes(scores(0.9))
		says(`{"score": 82}`)(w, r, c)
	})
	v := newJudge(t, Options{Providers: []Provider{provider}}).Judge(t.Context(), load(t, plainText), Subject{})
	calls := s.seen()
	if v.By != ByAI || len(calls) != 2 {
		t.Fatalf("%d calls, verdict %+v", len(calls), v)
	}
	last := calls[1].Messages[1].Content
	if !strings.Contains(last, "of no use (the score 82 is outside 0 to 1)") {
		t.Errorf("the second question does not say what was wrong: %q", last)
	}
}

func TestProvidersThatHangShareTheDeadline(t *testing.T) {
	a := load(t, plainText)
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: hangs}
		providers := []Provider{
			{BaseURL: "http://a.example", Model: "m"}, {BaseURL: "http://b.example", Model: "m"}, {BaseURL: "http://c.example", Model: "m"},
		}
		j := newJudge(t, Options{Providers: providers, Transport: overlay{s}})
		began := time.Now()
		v := j.Judge(t.Context(), a, Subject{Now: noon})
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %v, want a minute", took)
		}
		want := "m at a.example gave no answer within 20s; m at b.example gave no answer within 20s; m at c.example gave no answer within 20s"
		if v.Reason != want || !v.Pass || len(s.seen()) != 3 {
			t.Errorf("reason %q", v.Reason)
		}
	})
}

func TestOneProviderThatHangsIsGivenUpAfterItsTimeout(t *testing.T) {
	a := load(t, plainText)
	for name, hang := range map[string]answer{"silent": hangs, "blank lines": drips("\n")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJudge(t, Options{Providers: []Provider{{BaseURL: "http://a.example", Model: "m"}}, Transport: overlay{&service{answer: hang}}})
				began := time.Now()
				v := j.Judge(t.Context(), a, Subject{})
				if took := time.Since(began); took != 30*time.Second || v.Reason != "m at a.example gave no answer within 30s" {
					t.Errorf("after %v: %+v", took, v)
				}
			})
		})
	}
}

func TestAnInterruptedCheckEndsAtOnceAndCountsForNothing(t *testing.T) {
	s, provider := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	s.becomes(func(w http.ResponseWriter, r *http.Request, c call) {
		cancel()
		hangs(w, r, c)
	})
	j := newJudge(t, Options{Providers: []Provider{provider, provider}, Failures: 1})
	v := j.Judge(ctx, load(t, plainText), Subject{})
	if !v.Degraded || !v.Pass || !strings.HasSuffix(v.Reason, "the check was interrupted") || len(s.seen()) != 1 {
		t.Errorf("verdict %+v", v)
	}
	s.becomes(scores(0.9))
	if v := j.Judge(t.Context(), load(t, plainText), Subject{}); v.By != ByAI || len(s.seen()) != 1 {
		t.Errorf("afterwards %+v", v)
	}
}

func TestWhatIsHeldAnywayIsNotSentAnywhere(t *testing.T) {
	s, provider := start(t, scores(1))
	j := newJudge(t, Options{Providers: []Provider{provider}, Words: []Word{{"something", true}}})
	v := j.Judge(t.Context(), load(t, plainText), Subject{})
	if v.Pass || v.Degraded || v.By != ByBasic || len(s.seen()) != 0 {
		t.Errorf("verdict %+v", v)
	}
	if want := `line 5: the word list refuses "something"; choose another word.`; v.Details != want {
		t.Errorf("details %q, want %q", v.Details, want)
	}
}

func TestWithoutProvidersTheBasicCheckIsNotDegraded(t *testing.T) {
	v := newJudge(t, Options{}).Judge(t.Context(), load(t, plainText), Subject{Now: noon})
	if diff := cmp.Diff(Verdict{By: ByBasic, Pass: true, At: noon}, v); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if err := newJudge(t, Options{}).Well(t.Context()); err == nil {
		t.Error("nobody is well")
	}
}

func TestAFaultyProviderIsRefused(t *testing.T) {
	for name, p := range map[string]Provider{
		"no address": {Model: "m"}, "another scheme": {BaseURL: "ftp://a.example", Model: "m"},
		"no model": {BaseURL: "https://a.example"}, "another mode": {BaseURL: "https://a.example", Model: "m", JSON: "xml"},
	} {
		if _, err := New(Options{Providers: []Provider{p}}); err == nil || !strings.HasPrefix(err.Error(), "provider 1: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
