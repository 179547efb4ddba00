package main

import (
	"errors"
	"testing"
	"time"

	"herald/internal/control"
	"herald/platforms"
	"herald/state"
)

func TestTheExitCodeOfStatusIsTheWorstOfAllArticles(t *testing.T) {
	article := func(st state.ArticleState, ds ...state.DeliveryReport) state.Report {
		return state.Report{ID: "a", State: st, Deliveries: ds}
	}
	due := time.Date(2026, 6, 17, 1, 0, 0, 0, time.UTC)
	permanent := &state.ErrorReport{Kind: platforms.Unauthorized, Class: platforms.Permanent}
	transient := &state.ErrorReport{Kind: platforms.Unavailable, Class: platforms.Transient}
	success := article(state.ArticleSuccess, state.DeliveryReport{State: state.Published})
	tests := []struct {
		name string
		of   []state.Report
		want int
	}{
		{"no articles", nil, 0},
		{"a success", []state.Report{success}, 0},
		{"withdrawn and canceled", []state.Report{article(state.ArticleWithdrawn), article(state.ArticleCanceled)}, 0},
		{"scheduled", []state.Report{article(state.ArticleScheduled, state.DeliveryReport{State: state.Queued, Due: &due})}, 2},
		{"queued", []state.Report{success, article(state.ArticleQueued)}, 2},
		{"publishing", []state.Report{article(state.ArticlePublishing), success}, 2},
		{"publishing after a transient error", []state.Report{article(state.ArticlePublishing, state.DeliveryReport{State: state.Queued, Due: &due, Error: transient})}, 2},
		{"publishing, but held for a person", []state.Report{article(state.ArticlePublishing, state.DeliveryReport{State: state.Queued, Due: &due, Error: permanent})}, 3},
		{"a success that is updated", []state.Report{article(state.ArticleSuccess, state.DeliveryReport{State: state.Updating, Due: &due})}, 2},
		{"a success whose update failed", []state.Report{article(state.ArticleSuccess, state.DeliveryReport{State: state.Published, Error: transient})}, 3},
		{"partial", []state.Report{article(state.ArticlePartial)}, 3},
		{"failed", []state.Report{success, article(state.ArticleFailed)}, 3},
		{"held", []state.Report{article(state.ArticleHeld)}, 3},
		{"held comes before publishing", []state.Report{article(state.ArticlePublishing), article(state.ArticleHeld), success}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := 0
			if code, ok := errors.AsType[exitCode](statusExit(control.Status{Articles: tt.of})); ok {
				got = int(code)
			}
			if got != tt.want {
				t.Errorf("exit code %d, want %d", got, tt.want)
			}
		})
	}
}

func TestOnlyAChangeIsNews(t *testing.T) {
	status := func(due time.Time) control.Status {
		return control.Status{Articles: []state.Report{{ID: "a", Deliveries: []state.DeliveryReport{{State: state.Queued, Due: &due}}}}}
	}
	overdue, later := status(noon.Add(-time.Minute)), status(noon)
	if news(overdue, true, nil, noon) != news(later, true, nil, noon) {
		t.Error("that a step is overdue for longer counts as news")
	}
	if !overdue.Articles[0].Deliveries[0].Due.Equal(noon.Add(-time.Minute)) {
		t.Error("the status itself was changed")
	}
	for name, other := range map[string]string{
		"another due time":   news(status(noon.Add(time.Hour)), true, nil, noon),
		"the daemon is gone": news(overdue, false, nil, noon),
		"an error":           news(control.Status{}, true, errors.New("x"), noon),
	} {
		if other == news(overdue, true, nil, noon) {
			t.Errorf("%s is not news", name)
		}
	}
}
