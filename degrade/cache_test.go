package degrade

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// shelf is a cache in memory.
type shelf struct {
	mu   sync.Mutex
	kept map[string]Verdict
}

func newShelf() *shelf { return &shelf{kept: map[string]Verdict{}} }

func (s *shelf) Get(key string) (Verdict, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.kept[key]
	return v, ok
}

func (s *shelf) Put(key string, v Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[key] = v
}

func TestTheSameContentIsAskedAboutOnce(t *testing.T) {
	s, provider := start(t, scores(0.9))
	o := Options{Providers: []Provider{provider}, Cache: newShelf()}
	a := load(t, plainText)
	first := newJudge(t, o).Judge(t.Context(), a, Subject{Now: noon})
	s.seen()
	again := newJudge(t, o).Judge(t.Context(), a, Subject{Now: noon.Add(time.Hour)})
	if len(s.seen()) != 0 || again.By != ByCache || again.Degraded || *again.Score != 0.9 || !again.At.Equal(noon) || again.Opinion != first.Opinion {
		t.Errorf("verdict %+v", again)
	}
	t.Run("with the pass score of today", func(t *testing.T) {
		strict, err := New(Options{Providers: o.Providers, Cache: o.Cache, PassScore: 0.95})
		if err != nil {
			t.Fatal(err)
		}
		if v := strict.Judge(t.Context(), a, Subject{}); v.Pass || v.By != ByCache {
			t.Errorf("verdict %+v", v)
		}
	})
	for name, change := range map[string]func(*Options){
		"another model":  func(o *Options) { p := provider; p.Model = "m2"; o.Providers = []Provider{p} },
		"another prompt": func(o *Options) { o.Prompt = "Be kind." },
	} {
		t.Run(name, func(t *testing.T) {
			o := o
			change(&o)
			if v := newJudge(t, o).Judge(t.Context(), a, Subject{}); v.By != ByAI || len(s.seen()) != 1 {
				t.Errorf("verdict %+v", v)
			}
		})
	}
	t.Run("other content", func(t *testing.T) {
		if v := newJudge(t, o).Judge(t.Context(), load(t, plainText+"More.\n"), Subject{}); v.By != ByAI || len(s.seen()) != 1 {
			t.Errorf("verdict %+v", v)
		}
	})
}

func TestOfTheSameContentAnOldVerdictStandsIn(t *testing.T) {
	for name, tt := range map[string]struct {
		score float64
		pass  bool
	}{"good": {0.9, true}, "bad": {0.2, false}} {
		t.Run(name, func(t *testing.T) {
			s, provider := start(t, scores(tt.score))
			o := Options{Providers: []Provider{provider}, Cache: newShelf()}
			a := load(t, plainText)
			newJudge(t, o).Judge(t.Context(), a, Subject{Now: noon})
			s.becomes(status(500, ""))
			o.Prompt = "Another prompt."
			v := newJudge(t, o).Judge(t.Context(), a, Subject{Now: noon.Add(time.Hour)})
			if v.By != ByCache || !v.Degraded || v.Stale || *v.Score != tt.score || v.Pass != tt.pass || !strings.Contains(v.Details, "The verdict of 2026-06-17 on the same text counts.") {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

func TestTheVerdictOnAnEarlierRevisionInformsButHoldsNothing(t *testing.T) {
	_, provider := start(t, status(500, ""))
	j := newJudge(t, Options{Providers: []Provider{provider}, Cache: newShelf()})
	bad := 0.2
	previous := Verdict{By: ByAI, Score: &bad, At: noon.Add(-24 * time.Hour), Opinion: "Bad.", Model: "m0"}
	v := j.Judge(t.Context(), load(t, plainText), Subject{Now: noon, Previous: &previous})
	if v.By != ByCache || !v.Stale || !v.Degraded || !v.Pass || *v.Score != bad || v.Model != "m0" {
		t.Errorf("verdict %+v", v)
	}
	if !strings.Contains(v.Details, "An earlier revision scored 0.20 on 2026-06-16; the basic check decides.") {
		t.Errorf("details %q", v.Details)
	}
	unscored := j.Judge(t.Context(), load(t, plainText), Subject{Previous: &Verdict{By: ByBasic}})
	if unscored.By != ByBasic || unscored.Stale {
		t.Errorf("verdict %+v", unscored)
	}
}

func TestADegradedVerdictIsNotKept(t *testing.T) {
	_, provider := start(t, status(500, ""))
	kept := newShelf()
	newJudge(t, Options{Providers: []Provider{provider}, Cache: kept}).Judge(t.Context(), load(t, plainText), Subject{})
	if len(kept.kept) != 0 {
		t.Errorf("kept %+v", kept.kept)
	}
}

func TestWithoutAHashNothingIsKept(t *testing.T) {
	_, provider := start(t, scores(0.9))
	kept := newShelf()
	a := load(t, plainText)
	a.Hash = ""
	if v := newJudge(t, Options{Providers: []Provider{provider}, Cache: kept}).Judge(t.Context(), a, Subject{}); v.By != ByAI || len(kept.kept) != 0 {
		t.Errorf("verdict %+v, kept %v", v, kept.kept)
	}
}
