package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"herald/state"
)

// aiService is an OpenAI-compatible service whose health and score are set.
type aiService struct {
	*httptest.Server
	down  atomic.Bool
	score atomic.Value
	mu    sync.Mutex
	asked int
}

func newAIService(t *testing.T) *aiService {
	s := &aiService{}
	s.score.Store("0.82")
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		s.asked++
		s.mu.Unlock()
		if s.down.Load() {
			http.Error(w, "down for maintenance", http.StatusInternalServerError)
			return
		}
		content, err := json.Marshal(fmt.Sprintf(`{"score": %s, "pass": true, "details": "条理清楚", "issues": []}`, s.score.Load()))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s}}]}`, content)
	}))
	t.Cleanup(s.Close)
	return s
}

// configure is a herald with one blog whose articles the service judges.
func (s *aiService) configure() string {
	return "quality: { recheck: 1s, timeout: 5s, deadline: 10s, providers: [ { base_url: \"" + s.URL + "/v1\", api_key: hunter2-of-the-judge, model: m } ] }\n" + blogOnly
}

func TestTheJudgeIsAskedBeforeTheFirstDelivery(t *testing.T) {
	t.Parallel()
	ai := newAIService(t)
	p := newPlace(t, ai.configure())
	d := p.start()
	p.drop("good.md", "# 好文章\n\n正文有条理。\n")
	r := p.awaitState("good", state.ArticleSuccess)
	if q := r.Quality; q == nil || q.By != "ai" || q.Score == nil || *q.Score != 0.82 || !q.Pass || q.Degraded || r.Degraded {
		t.Errorf("a good article: %+v", q)
	}

	ai.score.Store("0.31")
	p.drop("poor.md", "# 差文章\n\n前后矛盾。\n")
	r = p.awaitState("poor", state.ArticleHeld)
	if r.Hold == nil || r.Hold.Reason != state.HeldQuality || r.Quality.Pass {
		t.Errorf("a poor article: %+v, %+v", r.Hold, r.Quality)
	}
	p.want(exitAttention, "status")
	p.want(0, "approve", "poor")
	p.awaitState("poor", state.ArticleSuccess)
	if out := p.want(0, "status", "--json").out + d.log.String() + p.read("data/herald.db"); strings.Contains(out, "hunter2") {
		t.Error("the service's key is in the status, the log or the store")
	}
	d.stop()
}

func TestAJudgeThatIsDownDegradesAndIsAskedAgain(t *testing.T) {
	t.Parallel()
	ai := newAIService(t)
	ai.down.Store(true)
	p := newPlace(t, ai.configure())
	d := p.start()
	p.drop("a.md", "# 标题\n\n正文。\n")
	r := p.awaitState("a", state.ArticleSuccess)
	if q := r.Quality; q == nil || q.By != "basic" || !q.Degraded || !r.Degraded || q.Details == "" {
		t.Fatalf("while the service is down: %+v", q)
	}
	ai.down.Store(false)
	r = p.await("a", "checked again", func(r state.Report) bool { return r.Quality != nil && !r.Quality.Degraded })
	if r.Quality.By != "ai" || r.State != state.ArticleSuccess || r.Deliveries[0].Attempts != 1 {
		t.Errorf("once it is back: %+v, %s", r.Quality, r.State)
	}
	d.stop()
}

func TestARefusedWordHoldsTheArticleWithoutAnyService(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "quality: { words: words.txt }\n"+blogOnly)
	p.write("words.txt", "[refuse]\n违禁品\n[warn]\n最好\n")
	p.write("draft.md", "# 标题\n\n这里卖违禁品。\n")
	if r := p.want(1, "check", "--json", "draft.md"); !strings.Contains(r.out, `"word-refused"`) || !strings.Contains(r.out, `"line": 3`) {
		t.Errorf("check: %s", r.out)
	}
	d := p.start()
	p.drop("a.md", "# 标题\n\n这里卖违禁品。\n")
	if r := p.awaitState("a", state.ArticleHeld); r.Hold.Reason != state.HeldQuality || !strings.Contains(r.Hold.Message, "违禁品") {
		t.Errorf("held: %+v", r.Hold)
	}
	d.stop()
}

func TestAnArticleMaySwitchARuleOff(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	p.write("on.md", "---\ntitle: 标题\n---\n\nTODO: 待补充。\n")
	p.write("off.md", "---\ntitle: 标题\nchecks_off: [placeholder]\n---\n\nTODO: 待补充。\n")
	if r := p.want(0, "check", "--json", "on.md"); !strings.Contains(r.out, `"placeholder"`) {
		t.Errorf("in force: %s", r.out)
	}
	if r := p.want(0, "check", "--json", "off.md"); strings.Contains(r.out, `"placeholder"`) {
		t.Errorf("switched off: %s", r.out)
	}
}
