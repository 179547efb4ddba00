package degrade

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"herald/article"
	"herald/platforms"
)

// world is a judge with one provider in a bubble.
type world struct {
	*service
	*Judge
	t *testing.T
	a *article.Article
}

// inBubble runs a test with a service in process, so that time is not real.
func inBubble(t *testing.T, a *article.Article, answer answer, test func(w world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: answer}
		j := newJudge(t, Options{Providers: []Provider{{BaseURL: "http://a.example/v1", Model: "m"}}, Transport: overlay{s}})
		test(world{s, j, t, a})
	})
}

// judges wants a verdict by that many calls, and returns it.
func (w world) judges(by By, calls int) Verdict {
	w.t.Helper()
	w.seen()
	v := w.Judge.Judge(w.t.Context(), w.a, Subject{})
	if got := len(w.seen()); v.By != by || got != calls {
		w.t.Errorf("%d calls by %s (%s), want %d by %s", got, v.By, v.Reason, calls, by)
	}
	return v
}

func TestABreakerOpensAfterFailuresAndIsTriedByTheCheapCall(t *testing.T) {
	a := load(t, plainText)
	inBubble(t, a, status(500, ""), func(w world) {
		for range 3 {
			w.judges(ByBasic, 1)
		}
		open := w.judges(ByBasic, 0)
		if want := "m at a.example is left alone for a while, since it is not available (500 Internal Server Error)"; open.Reason != want {
			w.t.Errorf("reason %q, want %q", open.Reason, want)
		}
		if err := w.Well(w.t.Context()); err == nil || len(w.seen()) != 0 {
			w.t.Errorf("an open breaker is well: %v", err)
		}
		time.Sleep(61 * time.Second)

		w.Judge.Judge(w.t.Context(), a, Subject{})
		if calls := w.seen(); len(calls) != 1 || pings(calls) != 1 {
			w.t.Errorf("%d calls, %d of them cheap: an article is no probe", len(calls), pings(calls))
		}
		w.judges(ByBasic, 0)
		time.Sleep(61 * time.Second)

		w.becomes(scores(0.9))
		v := w.Judge.Judge(w.t.Context(), a, Subject{})
		if calls := w.seen(); v.By != ByAI || len(calls) != 2 || pings(calls) != 1 || !calls[0].isPing() {
			w.t.Errorf("%d calls, %d of them cheap: %+v", len(calls), pings(calls), v)
		}
		w.judges(ByAI, 1)
	})
}

func TestEachProviderHasABreakerOfItsOwn(t *testing.T) {
	sick, one := start(t, status(500, ""))
	healthy, two := start(t, scores(0.9))
	j := newJudge(t, Options{Providers: []Provider{one, two}})
	for range 5 {
		if v := j.Judge(t.Context(), load(t, plainText), Subject{}); v.By != ByAI {
			t.Errorf("verdict %+v", v)
		}
	}
	if a, b := len(sick.seen()), len(healthy.seen()); a != 3 || b != 5 {
		t.Errorf("%d and %d calls, want 3 and 5", a, b)
	}
}

func TestWhatAFailureMeansToTheBreaker(t *testing.T) {
	a := load(t, plainText)
	for _, tt := range []struct {
		name   string
		answer answer
		calls  []int // of one article after the other
	}{
		{"no money opens at once", status(402, ""), []int{1, 0, 0}},
		{"no quota opens at once", status(429, `{"error":{"code":"insufficient_quota"}}`), []int{1, 0, 0}},
		{"a refused key opens at once", status(401, ""), []int{1, 0, 0}},
		{"an outage opens after three", status(503, ""), []int{1, 1, 1, 0}},
		{"nonsense opens after three", says("Fine!"), []int{2, 2, 2, 0}},
		{"too fast never opens", status(429, ""), []int{1, 1, 1, 1, 1}},
		{"a refused text never opens", status(400, `{"error":{"code":"data_inspection_failed"}}`), []int{1, 1, 1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, a, tt.answer, func(w world) {
				for _, calls := range tt.calls {
					w.judges(ByBasic, calls)
				}
			})
		})
	}
}

func TestAProviderThatAsksToWaitIsLeftAloneSoLong(t *testing.T) {
	a := load(t, plainText)
	wait := func(w http.ResponseWriter, r *http.Request, c call) {
		w.Header().Set("Retry-After", "90")
		status(429, "")(w, r, c)
	}
	inBubble(t, a, wait, func(w world) {
		w.judges(ByBasic, 1)
		w.becomes(scores(0.9))
		if v := w.judges(ByBasic, 0); !strings.Contains(v.Reason, "m at a.example asked to wait until ") {
			w.t.Errorf("reason %q", v.Reason)
		}
		if err := w.Well(w.t.Context()); err == nil || len(w.seen()) != 0 {
			w.t.Errorf("it is well: %v", err)
		}
		time.Sleep(90 * time.Second)
		if err := w.Well(w.t.Context()); err != nil {
			w.t.Error(err)
		}
		w.judges(ByAI, 1)
	})
}

func TestWellAsksCheaplyUntilOneCanBeUsed(t *testing.T) {
	first, one := start(t, status(402, `{"error":{"message":"Insufficient Balance"}}`))
	second, two := start(t, scores(0.9))
	third, three := start(t, scores(0.9))
	j := newJudge(t, Options{Providers: []Provider{one, two, three}})
	if err := j.Well(t.Context()); err != nil {
		t.Error(err)
	}
	calls := append(first.seen(), second.seen()...)
	if len(calls) != 2 || pings(calls) != 2 || len(third.seen()) != 0 {
		t.Errorf("calls %+v", calls)
	}
	second.becomes(status(401, ""))
	third.becomes(status(500, ""))
	err := j.Well(t.Context())
	if err == nil || strings.Count(err.Error(), "m1 at ") != 3 || !strings.Contains(err.Error(), "no quota left") {
		t.Errorf("error %v", err)
	}
}

func TestTheRequestIsAsTheContractSays(t *testing.T) {
	s, provider := start(t, scores(0.9))
	provider.Headers = map[string]platforms.Secret{"X-Title": "herald"}
	provider.Extra = map[string]any{"enable_thinking": false, "temperature": nil}
	newJudge(t, Options{Providers: []Provider{provider}}).Judge(t.Context(), load(t, plainText), Subject{})
	c := s.seen()[0]
	if c.path != "/v1/chat/completions" || c.header.Get("Authorization") != "Bearer "+key || c.header.Get("X-Title") != "herald" {
		t.Errorf("path %q, headers %v", c.path, c.header)
	}
	if c.Model != "m1" || c.MaxTokens != 4096 || c.Temperature != nil || c.Stream == nil || *c.Stream || c.EnableThinking == nil || *c.EnableThinking {
		t.Errorf("request %+v", c)
	}
	if c.ResponseFormat["type"] != "json_schema" || !strings.Contains(c.Messages[0].Content, "JSON") {
		t.Errorf("format %v", c.ResponseFormat)
	}
}

func TestWhatAServiceDoesNotTakeIsLeftOutFromThenOn(t *testing.T) {
	old := func(w http.ResponseWriter, r *http.Request, c call) {
		fault := func(param, message string) {
			status(400, fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error","param":%s,"code":"unsupported_parameter"}}`, message, param))(w, r, c)
		}
		switch {
		case c.MaxTokens > 0:
			fault(`"max_tokens"`, "use max_completion_tokens")
		case c.Temperature != nil:
			fault(`"temperature"`, "only the default is supported")
		case c.ResponseFormat["type"] == "json_schema":
			fault("null", "This response_format type is unavailable now")
		default:
			scores(0.9)(w, r, c)
		}
	}
	s, provider := start(t, old)
	j := newJudge(t, Options{Providers: []Provider{provider}})
	for _, calls := range []int{4, 1} {
		if v := j.Judge(t.Context(), load(t, plainText), Subject{}); v.By != ByAI {
			t.Errorf("verdict %+v", v)
		}
		seen := s.seen()
		last := seen[len(seen)-1]
		if len(seen) != calls || last.ResponseFormat["type"] != "json_object" || last.Completion != 4096 {
			t.Errorf("%d calls, want %d, the last %+v", len(seen), calls, last)
		}
	}
}

func TestAModeThatIsSetStays(t *testing.T) {
	for mode, format := range map[JSONMode]any{JSONSchema: "json_schema", JSONObject: "json_object", JSONOff: nil} {
		s, provider := start(t, status(422, ""))
		provider.JSON = mode
		newJudge(t, Options{Providers: []Provider{provider}}).Judge(t.Context(), load(t, plainText), Subject{})
		if calls := s.seen(); len(calls) != 1 || calls[0].ResponseFormat["type"] != format {
			t.Errorf("%s: calls %+v", mode, calls)
		}
	}
}

// chapters makes an article of sections, each with a heading and so many words.
func chapters(n, words int) string {
	var b strings.Builder
	b.WriteString("---\ntitle: Long\n---\n")
	for i := range n {
		fmt.Fprintf(&b, "\n## Section %d\n\n%s\n", i, strings.Repeat("word ", words))
	}
	return b.String()
}

func TestALongArticleIsJudgedInPartsAndTheWorstCounts(t *testing.T) {
	worst := func(w http.ResponseWriter, r *http.Request, c call) {
		score := 0.9
		if strings.Contains(c.article(), "Section 7") {
			score = 0.4
		}
		says(fmt.Sprintf(`{"score":%v,"details":"d","issues":[{"problem":"p"}]}`, score))(w, r, c)
	}
	s, provider := start(t, worst)
	provider.MaxChars = 1500
	a := load(t, chapters(10, 80)) // 10 × about 415 characters
	v := newJudge(t, Options{Providers: []Provider{provider}}).Judge(t.Context(), a, Subject{})
	if v.Pass || *v.Score != 0.4 || len(v.Issues) != 4 || v.Opinion != "Judged in 4 parts, the lowest score counts (part 3). d" {
		t.Errorf("verdict %+v", v)
	}
	sections := map[string]int{}
	for _, c := range s.seen() {
		text := c.article()
		if len([]rune(text)) > 1500+100 || !strings.HasPrefix(text, "title: Long\n(") || !strings.Contains(text, "/4)\n\n## Section ") {
			t.Errorf("part %q", text[:60])
		}
		for i := range 10 {
			sections[fmt.Sprint(i)] += strings.Count(text, fmt.Sprintf("## Section %d\n", i))
		}
	}
	for i, n := range sections {
		if n != 1 {
			t.Errorf("section %s is in %d parts", i, n)
		}
	}
}

func TestFourPartsAreJudgedTogetherAndSixteenAtMost(t *testing.T) {
	var now, most atomic.Int64
	full := make(chan struct{})
	fill := sync.OnceFunc(func() { close(full) })
	s, provider := start(t, func(w http.ResponseWriter, r *http.Request, c call) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); {
			m = most.Load()
		}
		if n == together {
			fill()
		}
		<-full
		scores(0.9)(w, r, c)
	})
	provider.MaxChars = 500
	v := newJudge(t, Options{Providers: []Provider{provider}}).Judge(t.Context(), load(t, chapters(20, 90)), Subject{})
	if v.Score == nil || !strings.HasSuffix(v.Opinion, "Only the first 16 of 20 parts were judged.") || len(s.seen()) != 16 || most.Load() != together {
		t.Errorf("%d at a time, verdict %+v", most.Load(), v)
	}
}

func TestOneBadPartMakesNoVerdict(t *testing.T) {
	_, provider := start(t, func(w http.ResponseWriter, r *http.Request, c call) {
		if strings.Contains(c.article(), "Section 1") {
			status(500, "")(w, r, c)
			return
		}
		hangs(w, r, c) // until the failure of the other cancels it
	})
	provider.MaxChars = 500
	v := newJudge(t, Options{Providers: []Provider{provider}}).Judge(t.Context(), load(t, chapters(2, 90)), Subject{})
	if v.By != ByBasic || !strings.Contains(v.Reason, "is not available (500") {
		t.Errorf("verdict %+v", v)
	}
}

func TestAPartThatIsTooLongIsHalvedAndTheLengthRemembered(t *testing.T) {
	for name, refusal := range map[string]answer{
		"openai": status(400, `{"error":{"code":"context_length_exceeded","message":"too long"}}`),
		"vllm":   status(400, `{"object":"error","type":"BadRequestError","code":400,"message":"This model's maximum context length is 2048 tokens."}`),
		"413":    status(413, ""),
	} {
		t.Run(name, func(t *testing.T) {
			s, provider := start(t, func(w http.ResponseWriter, r *http.Request, c call) {
				if len(c.article()) > 1800 {
					_, _ = io.Copy(io.Discard, r.Body)
					refusal(w, r, c)
					return
				}
				scores(0.9)(w, r, c)
			})
			j := newJudge(t, Options{Providers: []Provider{provider}})
			a := load(t, chapters(10, 80))
			if v := j.Judge(t.Context(), a, Subject{}); v.By != ByAI {
				t.Fatalf("verdict %+v", v)
			}
			s.seen()
			j.Judge(t.Context(), a, Subject{})
			if calls := s.seen(); len(calls) != 3 {
				t.Errorf("%d calls the second time, want 3", len(calls))
			}
		})
	}
}

func TestATextIsCutAtHeadingsThenBlocksThenAnywhere(t *testing.T) {
	body := "intro\n\n## 一\n\n" + strings.Repeat("甲", 30) + "\n\n## 二\n\n" + strings.Repeat("乙", 20) + "\n\n" + strings.Repeat("丙", 20) + "\n\n" + strings.Repeat("丁", 75) + "\n\n```\n## no heading\n```\n"
	s := parse(&article.Article{Body: body})
	parts := s.parts(40)
	if got := strings.Join(parts, ""); got != body {
		t.Errorf("joined %q", got)
	}
	want := []string{
		"intro\n\n", "## 一\n\n" + strings.Repeat("甲", 30) + "\n\n", "## 二\n\n" + strings.Repeat("乙", 20) + "\n\n",
		strings.Repeat("丙", 20) + "\n\n", strings.Repeat("丁", 40), strings.Repeat("丁", 35) + "\n\n", "```\n## no heading\n```\n",
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
