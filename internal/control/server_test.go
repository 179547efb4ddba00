package control_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"herald/compensate"
	"herald/internal/control"
	"herald/platforms"
	"herald/state"
)

func TestEachQuestionReachesTheDeskAndItsAnswerComesBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 17, 1, 0, 0, 0, time.UTC)
	reports := []state.Report{{ID: "a", Title: "甲", State: state.ArticleSuccess, AcceptedAt: at, Deliveries: []state.DeliveryReport{}}}
	report := state.Report{ID: "架构", AcceptedAt: at, Deliveries: []state.DeliveryReport{{
		Target: "blog", State: state.Queued, Due: &at,
		Error: &state.ErrorReport{Kind: platforms.RateLimited, Class: platforms.Transient, Code: "10023", Message: "慢"},
	}}}
	targets := []compensate.TargetReport{{Name: "blog", Type: "site", Enabled: true, Breaker: "closed", Waiting: 3}}
	changes := []compensate.Change{{Article: "a", Target: "blog", From: state.Failed, To: state.Queued, Note: "released"}}

	tests := []struct {
		name string
		ask  func(*control.Client) (any, error)
		want any
		desk []string
	}{
		{"info", func(c *control.Client) (any, error) { return c.Info(t.Context()) }, control.Info{Version: "v1", PID: 7, DataDir: "/data"}, nil},
		{"status", func(c *control.Client) (any, error) { return c.Status(t.Context(), 7, false) }, control.Status{Articles: reports}, []string{"reports 7 false"}},
		{"what failed", func(c *control.Client) (any, error) { return c.Status(t.Context(), 50, true) }, control.Status{Articles: reports}, []string{"reports 50 true"}},
		{"one article", func(c *control.Client) (any, error) { return c.Article(t.Context(), "架构") }, control.Status{Articles: []state.Report{report}}, []string{"report 架构"}},
		{"an id with a slash", func(c *control.Client) (any, error) { return c.Article(t.Context(), "a/b?c") }, control.Status{Articles: []state.Report{report}}, []string{"report a/b?c"}},
		{"targets", func(c *control.Client) (any, error) { return c.Targets(t.Context()) }, targets, []string{"targets"}},
		{"retry an article", do(t, "retry", control.Command{Article: "a"}), changes, []string{`retry a on ""`}},
		{"retry one delivery", do(t, "retry", control.Command{Article: "a", Target: "blog"}), changes, []string{`retry a on "blog"`}},
		{"retry a target", do(t, "retry", control.Command{Target: "blog"}), changes, []string{"retry target blog"}},
		{"resolve as published", do(t, "resolve", control.Command{Article: "a", Target: "blog", URL: "https://x/1"}), changes, []string{`resolve a on "blog" at "https://x/1"`}},
		{"resolve as missing", do(t, "resolve", control.Command{Article: "a", Target: "blog", Missing: true}), changes, []string{`resolve a on "blog" at ""`}},
		{"cancel", do(t, "cancel", control.Command{Article: "a"}), changes, []string{`cancel a on ""`}},
		{"withdraw", do(t, "withdraw", control.Command{Article: "a", Target: "blog"}), changes, []string{`withdraw a on "blog"`}},
		{"republish", do(t, "republish", control.Command{Article: "a"}), changes, []string{`republish a on ""`}},
		{"approve", do(t, "approve", control.Command{Article: "a", Target: "blog"}), changes, []string{`approve a on "blog"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := &desk{reports: reports, report: report, targets: targets, changes: changes}
			path, _ := serve(t, d)
			got, err := tt.ask(control.NewClient(path))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.desk, d.questions()); diff != "" {
				t.Errorf("the desk was asked (-want +got):\n%s", diff)
			}
		})
	}
}

func do(t *testing.T, name string, c control.Command) func(*control.Client) (any, error) {
	return func(client *control.Client) (any, error) { return client.Do(t.Context(), name, c) }
}

func TestErrorsCarryCodeRetryableAndRetryAfter(t *testing.T) {
	t.Parallel()
	reasons := []compensate.Change{{Article: "a", Target: "blog", From: state.Published, To: state.Published, Note: "already published"}}
	tests := []struct {
		name    string
		err     error
		changes []compensate.Change
		status  int
		want    control.Error
	}{
		{
			"nothing of that name", fmt.Errorf("article a: %w", state.ErrNotFound), nil, http.StatusNotFound,
			control.Error{Code: control.CodeNotFound, Message: "article a: no such record"},
		},
		{
			"nothing to do", fmt.Errorf("approve a: %w", compensate.ErrNothing), reasons, http.StatusConflict,
			control.Error{Code: control.CodeNothing, Message: "approve a: nothing to do", Changes: reasons},
		},
		{
			"somebody else was faster", fmt.Errorf("save a: %w", state.ErrConflict), nil, http.StatusConflict,
			control.Error{Code: control.CodeConflict, Message: "save a: record has changed since it was read", Retryable: true, RetryAfter: 1},
		},
		{
			"a fault of herald", errors.New("disk is full"), nil, http.StatusInternalServerError,
			control.Error{Code: control.CodeInternal, Message: "disk is full"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path, _ := serve(t, &desk{err: tt.err, changes: tt.changes})
			_, err := control.NewClient(path).Do(t.Context(), "approve", control.Command{Article: "a"})
			got, ok := errors.AsType[*control.Error](err)
			if !ok {
				t.Fatalf("the client returned %v, want a *control.Error", err)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}

			resp, err := raw(path).Get("http://herald/v1/status")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tt.status {
				t.Errorf("status is %d, want %d", resp.StatusCode, tt.status)
			}
			var fields struct{ Error map[string]any }
			if err := json.NewDecoder(resp.Body).Decode(&fields); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"code", "message", "retryable"} {
				if _, ok := fields.Error[name]; !ok {
					t.Errorf("the error %v has no %s", fields.Error, name)
				}
			}
			if after, ok := fields.Error["retry_after"]; ok != tt.want.Retryable {
				t.Errorf("retry_after is %v for an error whose retryable is %v", after, tt.want.Retryable)
			}
		})
	}
}

func TestWhatIsNoRequestIsRefusedBeforeTheDesk(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, path, body string
		status                   int
		code                     control.Code
		says                     string
	}{
		{"no body", "POST", "/v1/cancel", "", http.StatusBadRequest, control.CodeInvalid, "EOF"},
		{"no JSON", "POST", "/v1/cancel", "article=a", http.StatusBadRequest, control.CodeInvalid, "invalid character"},
		{"cut off", "POST", "/v1/cancel", `{"article":"a"`, http.StatusBadRequest, control.CodeInvalid, "EOF"},
		{"of another type", "POST", "/v1/cancel", `{"article":7}`, http.StatusBadRequest, control.CodeInvalid, "article"},
		{"an unknown field", "POST", "/v1/cancel", `{"article":"a","targt":"blog"}`, http.StatusBadRequest, control.CodeInvalid, "targt"},
		{"two commands", "POST", "/v1/cancel", `{"article":"a"}{"article":"b"}`, http.StatusBadRequest, control.CodeInvalid, "something follows"},
		{"too large", "POST", "/v1/cancel", `{"article":"` + strings.Repeat("a", 70_000) + `"}`, http.StatusBadRequest, control.CodeInvalid, "too large"},
		{"cancel without an article", "POST", "/v1/cancel", `{"target":"blog"}`, http.StatusBadRequest, control.CodeInvalid, "name an article"},
		{"withdraw without an article", "POST", "/v1/withdraw", `{}`, http.StatusBadRequest, control.CodeInvalid, "name an article"},
		{"retry without anything", "POST", "/v1/retry", `{}`, http.StatusBadRequest, control.CodeInvalid, "an article or a target"},
		{"resolve without a target", "POST", "/v1/resolve", `{"article":"a","missing":true}`, http.StatusBadRequest, control.CodeInvalid, "a target"},
		{"resolve without a word", "POST", "/v1/resolve", `{"article":"a","target":"blog"}`, http.StatusBadRequest, control.CodeInvalid, "either"},
		{"resolve with both words", "POST", "/v1/resolve", `{"article":"a","target":"blog","missing":true,"url":"https://x"}`, http.StatusBadRequest, control.CodeInvalid, "either"},
		{"resolve at no address", "POST", "/v1/resolve", `{"article":"a","target":"blog","url":"example.com/1"}`, http.StatusBadRequest, control.CodeInvalid, "no address"},
		{"a limit of zero", "GET", "/v1/status?limit=0", "", http.StatusBadRequest, control.CodeInvalid, "positive"},
		{"a limit that is no number", "GET", "/v1/status?limit=all", "", http.StatusBadRequest, control.CodeInvalid, "all"},
		{"failed that is no answer", "GET", "/v1/status?failed=some", "", http.StatusBadRequest, control.CodeInvalid, "some"},
		{"an unknown request", "GET", "/v1/secrets", "", http.StatusNotFound, control.CodeNotFound, "GET /v1/secrets"},
		{"a command that is only asked for", "GET", "/v1/cancel", "", http.StatusNotFound, control.CodeNotFound, "GET /v1/cancel"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := &desk{}
			path, _ := serve(t, d)
			req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://herald"+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := raw(path).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var got struct{ Error control.Error }
			if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
				t.Fatalf("the answer is no JSON: %v", err)
			}
			if resp.StatusCode != tt.status || got.Error.Code != tt.code || !strings.Contains(got.Error.Message, tt.says) {
				t.Errorf("answered %d %+v, want %d, %s and %q", resp.StatusCode, got.Error, tt.status, tt.code, tt.says)
			}
			if asked := d.questions(); len(asked) > 0 {
				t.Errorf("the desk was asked %q", asked)
			}
		})
	}
}

func TestAStopLetsRequestsUnderWayEnd(t *testing.T) {
	t.Parallel()
	d := &desk{
		changes: []compensate.Change{{Article: "a", Target: "blog", From: state.Queued, To: state.Canceled}},
		block:   make(chan struct{}), entered: make(chan struct{}),
	}
	path, stop := serve(t, d)
	answered := make(chan error, 1)
	go func() {
		changes, err := control.NewClient(path).Do(t.Context(), "cancel", control.Command{Article: "a"})
		if err == nil && len(changes) != 1 {
			err = fmt.Errorf("answered %v", changes)
		}
		answered <- err
	}()
	<-d.entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	// The socket is gone as soon as the stop begins.
	for ready := false; !ready; {
		_, err := control.NewClient(path).Info(t.Context())
		ready = errors.Is(err, control.ErrNotRunning)
	}
	close(d.block)
	if err := <-answered; err != nil {
		t.Errorf("the request under way ended with %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
