package state_test

import (
	"testing"
	"time"

	"herald/platforms"
	"herald/state"
)

func TestTheArticleStateIsAFoldOfItsDeliveries(t *testing.T) {
	failure := &state.Failure{Kind: platforms.Unavailable, Message: "down"}
	d := func(st state.State, with ...func(*state.Delivery)) state.Delivery {
		d := state.Delivery{State: st, Attempts: 1, Due: now.Add(time.Minute), Revision: 1}
		for _, w := range with {
			w(&d)
		}
		return d
	}
	erred := func(d *state.Delivery) { d.Error = failure }
	untried := func(d *state.Delivery) { d.Attempts = 0 }
	onHeld := func(d *state.Delivery) { d.Target = "held" }

	hold := &state.ArticleHold{Reason: state.HeldDraft, Message: "draft"}
	for _, c := range []struct {
		name    string
		article state.Article
		ds      []state.Delivery
		want    state.ArticleState
	}{
		{"nothing begun", state.Article{}, []state.Delivery{d(state.Queued, untried)}, state.ArticleQueued},
		{"begins later", state.Article{PublishAt: now.Add(time.Hour)}, []state.Delivery{d(state.Queued, untried)}, state.ArticleScheduled},
		{"its time has come", state.Article{PublishAt: now.Add(-time.Hour)}, []state.Delivery{d(state.Queued, untried)}, state.ArticleQueued},
		{"held before anything was sent", state.Article{Hold: hold}, []state.Delivery{d(state.Queued, untried)}, state.ArticleHeld},
		{"canceled while held", state.Article{Hold: hold}, []state.Delivery{d(state.Canceled, untried)}, state.ArticleCanceled},
		{"first attempts under way", state.Article{}, []state.Delivery{d(state.Published), d(state.Sending), d(state.Queued, untried)}, state.ArticlePublishing},
		{"under review", state.Article{}, []state.Delivery{d(state.Published), d(state.Reviewing)}, state.ArticlePublishing},
		{"all there", state.Article{}, []state.Delivery{d(state.Published), d(state.Published)}, state.ArticleSuccess},
		{"being updated", state.Article{}, []state.Delivery{d(state.Published), d(state.Updating)}, state.ArticleSuccess},
		{"an update failed", state.Article{}, []state.Delivery{d(state.Published, erred)}, state.ArticlePartial},
		{"one erred and waits", state.Article{}, []state.Delivery{d(state.Published), d(state.Queued, erred)}, state.ArticlePartial},
		{"one on a held target", state.Article{}, []state.Delivery{d(state.Published), d(state.Queued, untried, onHeld)}, state.ArticlePartial},
		{"one uncertain", state.Article{}, []state.Delivery{d(state.Published), d(state.Uncertain)}, state.ArticlePartial},
		{"one rejected", state.Article{}, []state.Delivery{d(state.Published), d(state.Rejected)}, state.ArticlePartial},
		{"one canceled", state.Article{}, []state.Delivery{d(state.Published), d(state.Canceled)}, state.ArticlePartial},
		{"one withdrawn", state.Article{}, []state.Delivery{d(state.Published), d(state.Withdrawn)}, state.ArticlePartial},
		{"one stuck", state.Article{}, []state.Delivery{d(state.Withdrawn), d(state.Stuck)}, state.ArticlePartial},
		{"all erred, still trying", state.Article{}, []state.Delivery{d(state.Queued, erred), d(state.Rejected)}, state.ArticlePublishing},
		{"none will ever", state.Article{}, []state.Delivery{d(state.Failed), d(state.Rejected)}, state.ArticleFailed},
		{"failed and canceled", state.Article{}, []state.Delivery{d(state.Failed), d(state.Canceled)}, state.ArticleFailed},
		{"all withdrawn", state.Article{}, []state.Delivery{d(state.Withdrawn), d(state.Canceled)}, state.ArticleWithdrawn},
		{"all canceled", state.Article{}, []state.Delivery{d(state.Canceled)}, state.ArticleCanceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			outlook := func(target string) state.Outlook {
				if target != "held" {
					return state.Outlook{}
				}
				return state.Outlook{Hold: state.Hold{Kind: platforms.Unauthorized, ForPerson: true, Until: now.Add(time.Hour)}}
			}
			if got := state.Summarize(c.article, c.ds, outlook, now).State; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestDueSaysWhenTheNextThingHappensWhateverItWaitsFor(t *testing.T) {
	at := func(d time.Duration) time.Time { return now.Add(d) }
	for _, c := range []struct {
		name    string
		d       state.Delivery
		outlook state.Outlook
		want    time.Time
	}{
		{"its backoff", state.Delivery{State: state.Queued, Due: at(time.Minute)}, state.Outlook{}, at(time.Minute)},
		{"the hold", state.Delivery{State: state.Queued, Due: now}, state.Outlook{Hold: state.Hold{Kind: platforms.RateLimited, Until: at(time.Hour)}}, at(time.Hour)},
		{"a rate limit keeps no look-up", state.Delivery{State: state.Uncertain, Due: now}, state.Outlook{Hold: state.Hold{Kind: platforms.RateLimited, Until: at(time.Hour)}}, now},
		{"a refused credential does", state.Delivery{State: state.Uncertain, Due: now}, state.Outlook{Hold: state.Hold{Kind: platforms.Unauthorized, ForPerson: true, Until: at(time.Hour)}}, at(time.Hour)},
		{"the slot or the breaker", state.Delivery{State: state.Queued, Due: now}, state.Outlook{ReadyAt: at(30 * time.Second)}, at(30 * time.Second)},
		{"the breaker keeps no look-up", state.Delivery{State: state.Uncertain, Due: now}, state.Outlook{ReadyAt: at(30 * time.Second)}, now},
		{"a person", state.Delivery{State: state.Uncertain}, state.Outlook{}, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := state.Summarize(state.Article{}, []state.Delivery{c.d}, func(string) state.Outlook { return c.outlook }, now).Deliveries[0].Due
			if (got == nil) != c.want.IsZero() || (got != nil && !got.Equal(c.want)) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestWhatWaitsForAPersonIsTold(t *testing.T) {
	due := now
	unauthorized := &state.ErrorReport{Kind: platforms.Unauthorized, Class: platforms.Permanent}
	transient := &state.ErrorReport{Kind: platforms.Unavailable, Class: platforms.Transient}
	for _, c := range []struct {
		name string
		d    state.DeliveryReport
		want bool
	}{
		{"rejected", state.DeliveryReport{State: state.Rejected}, true},
		{"failed", state.DeliveryReport{State: state.Failed}, true},
		{"stuck", state.DeliveryReport{State: state.Stuck}, true},
		{"uncertain without a look-up", state.DeliveryReport{State: state.Uncertain}, true},
		{"uncertain and looked up", state.DeliveryReport{State: state.Uncertain, Due: &due}, false},
		{"queued on a held target", state.DeliveryReport{State: state.Queued, Due: &due, Error: unauthorized}, true},
		{"queued for a retry", state.DeliveryReport{State: state.Queued, Due: &due, Error: transient}, false},
		{"published", state.DeliveryReport{State: state.Published}, false},
		{"published, update failed", state.DeliveryReport{State: state.Published, Error: transient}, true},
		{"canceled", state.DeliveryReport{State: state.Canceled}, false},
	} {
		if got := c.d.NeedsPerson(); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
