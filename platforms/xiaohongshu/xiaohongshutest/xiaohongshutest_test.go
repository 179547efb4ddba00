package xiaohongshutest

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answer is the envelope of the interface.
type answer struct {
	status  int
	header  http.Header
	Success bool           `json:"success"`
	Code    string         `json:"code"`
	Details any            `json:"details"`
	Data    map[string]any `json:"data"`
}

func call(t *testing.T, s *Server, endpoint, body string) (a answer) {
	t.Helper()
	method, path, _ := strings.Cut(endpoint, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, "http://xhs.test"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	if a.status, a.header = resp.StatusCode, resp.Header; a.Success != (a.status == http.StatusOK) {
		t.Errorf("success %v with status %d", a.Success, a.status)
	}
	return a
}

// note is the body of a publication with changes.
func note(t *testing.T, changes map[string]any) string {
	t.Helper()
	body := map[string]any{"title": "题", "content": "文", "images": []string{"/a.jpg"}}
	maps.Copy(body, changes)
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// disk has every file but those that are called missing.
func disk(path string) ([]byte, error) {
	if strings.Contains(path, "missing") {
		return nil, errors.New("no such file")
	}
	return []byte(path), nil
}

const publishing = "POST /api/v1/publish"

func TestAPublicationIsRefusedAsTheInterfaceDoes(t *testing.T) {
	tests := []struct {
		name    string
		changes map[string]any
		status  int
		details string
		took    time.Duration
	}{
		{"a note", nil, 200, "", 0},
		{"without a title", map[string]any{"title": ""}, 400, "Key: 'PublishRequest.Title' Error:Field validation for 'Title' failed on the 'required' tag", 0},
		{"without pictures", map[string]any{"images": []string{}}, 400, "'Images' failed on the 'required' tag", 0},
		{"no JSON of the kind", map[string]any{"images": "/a.jpg"}, 400, "cannot unmarshal", 0},
		{"a long title", map[string]any{"title": strings.Repeat("一", 21)}, 500, "标题长度超过限制", 0},
		{"a long text", map[string]any{"content": strings.Repeat("一", 1001)}, 500, "当前输入长度为1001，最大长度为1000", 0},
		{"a text that is long with its tags", map[string]any{"content": strings.Repeat("一", 998), "tags": []string{"#a"}}, 500, "当前输入长度为1001", 0},
		{"an unknown visibility", map[string]any{"visibility": "所有人"}, 500, "不支持的可见范围: 所有人", 0},
		{"eighteen pictures", map[string]any{"images": slices.Repeat([]string{"/a.jpg"}, 18)}, 200, "", 0},
		{"nineteen pictures", map[string]any{"images": slices.Repeat([]string{"/a.jpg"}, 19)}, 500, noTitleField, 300 * time.Second},
		{"no picture that is there", map[string]any{"images": []string{"/missing.jpg"}}, 500, noTitleField, 300 * time.Second},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			s := New(Options{ReadFile: disk})
			start := time.Now()
			a := call(t, s, publishing, note(t, tt.changes))
			details, _ := a.Details.(string)
			if a.status != tt.status || !strings.Contains(details, tt.details) || time.Since(start) != tt.took {
				t.Errorf("%s: %d %s %q after %v", tt.name, a.status, a.Code, details, time.Since(start))
			}
			if (len(s.Notes()) == 1) != (tt.status == http.StatusOK) {
				t.Errorf("%s: %d notes", tt.name, len(s.Notes()))
			}
		})
	}
}

func TestAMissingPictureIsSkippedAndCountedAllTheSame(t *testing.T) {
	s := New(Options{ReadFile: disk})
	a := call(t, s, publishing, note(t, map[string]any{"images": []string{"/a.jpg", "/missing.jpg", "/b.jpg"}}))
	if len(s.Notes()) != 1 || len(s.Notes()[0].Images) != 2 || a.Data["images"] != 3.0 {
		t.Errorf("notes %+v, answer %v; want two pictures that are called three", s.Notes(), a.Data)
	}
	for _, key := range []string{"id", "note_id", "url"} {
		if a.Data[key] != nil {
			t.Errorf("the answer has %s: %v", key, a.Data)
		}
	}
}

func TestOfTheTagsTenAreTaken(t *testing.T) {
	s := New(Options{ReadFile: disk})
	call(t, s, publishing, note(t, map[string]any{"tags": slices.Repeat([]string{"go"}, 14)}))
	if n := len(s.Notes()[0].Tags); n != 10 {
		t.Errorf("%d tags, want 10", n)
	}
}

func TestOnlyTheFirstPageIsListedWithThePinnedNoteOnTop(t *testing.T) {
	s := New(Options{Page: 3, Pinned: "置顶"})
	for i, title := range []string{"一", "二", "三"} {
		s.Add(title, time.Now().Add(time.Duration(i)*time.Second-time.Minute))
	}
	inner, _ := call(t, s, "GET /api/v1/user/me?tab=note", "").Data["data"].(map[string]any)
	feeds, _ := inner["feeds"].([]any)
	var titles []string
	for _, f := range feeds {
		f, _ := f.(map[string]any)
		card, _ := f["noteCard"].(map[string]any)
		title, _ := card["displayTitle"].(string)
		titles = append(titles, title)
	}
	if want := []string{"置顶", "三", "二"}; !slices.Equal(titles, want) {
		t.Errorf("titles %q, want %q", titles, want)
	}
}

func TestATokenGuardsAllButTheHealth(t *testing.T) {
	s := New(Options{Token: "token"})
	for endpoint, status := range map[string]int{"GET /health": 200, "GET /api/v1/login/status": 401, publishing: 401} {
		a := call(t, s, endpoint, "{}")
		if a.status != status || status == 401 && (a.Code != "UNAUTHORIZED" || a.header.Get("WWW-Authenticate") != "Bearer") {
			t.Errorf("%s: %+v, want %d", endpoint, a, status)
		}
	}
}

func TestASessionThatHasEndedIsASuccessThatSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{LoggedOut: true, ReadFile: disk})
		if a := call(t, s, "GET /api/v1/login/status", ""); !a.Success || a.Data["is_logged_in"] != false {
			t.Errorf("state %+v", a)
		}
		if a := call(t, s, publishing, note(t, nil)); a.Details != noTitleField {
			t.Errorf("publication %+v", a)
		}
	})
}

func TestTheBrowsersPanicHasEmptyDetails(t *testing.T) {
	s := New(Options{})
	s.Script(publishing, 1, Panic())
	a := call(t, s, publishing, note(t, nil))
	if details, ok := a.Details.(map[string]any); a.status != 500 || a.Code != "INTERNAL_ERROR" || !ok || len(details) != 0 {
		t.Errorf("answer %+v", a)
	}
}
