package weibotest

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// call makes a request and returns the error_code of the answer and what it holds.
func call(t *testing.T, s *Server, method, path string, form url.Values) (code int, answer map[string]any) {
	t.Helper()
	form.Set("access_token", "2.00token")
	body, query := "", ""
	if method == http.MethodPost {
		body = form.Encode()
	} else {
		query = "?" + form.Encode()
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://weibo.test"+path+query, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return do(t, s, r)
}

func do(t *testing.T, s *Server, r *http.Request) (code int, answer map[string]any) {
	t.Helper()
	resp, err := s.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	n, _ := answer["error_code"].(float64)
	if (n == 0) != (resp.StatusCode == http.StatusOK) {
		t.Errorf("code %v with status %d", n, resp.StatusCode)
	}
	return int(n), answer
}

func status(text string) url.Values { return url.Values{"status": {text}, "rip": {"127.0.0.1"}} }

func TestARequestIsRefusedAsThePlatformDoes(t *testing.T) {
	const link = " https://example.com/a"
	tests := []struct {
		name, method, path string
		form               url.Values
		code               int
	}{
		{"a post", "POST", "/2/statuses/share.json", status("文" + link), 0},
		{"on a domain below", "POST", "/2/statuses/share.json", status("文 https://blog.example.com/a"), 0},
		{"without a link", "POST", "/2/statuses/share.json", status("文"), 10017},
		{"a link elsewhere", "POST", "/2/statuses/share.json", status("文 https://notexample.com/"), 10017},
		{"with a topic", "POST", "/2/statuses/share.json", status("#文#" + link), 10017},
		{"too long", "POST", "/2/statuses/share.json", status(strings.Repeat("文", 130) + link), 20012},
		{"empty", "POST", "/2/statuses/share.json", status(" "), 20008},
		{"without rip", "POST", "/2/statuses/share.json", url.Values{"status": {"文" + link}}, 10016},
		{"by GET", "GET", "/2/statuses/share.json", status("文" + link), 10021},
		{"a closed interface", "POST", "/2/statuses/update.json", status("文"), 10014},
		{"no interface", "GET", "/2/statuses/nothing.json", url.Values{}, 10020},
		{"another user's posts", "GET", "/2/statuses/user_timeline.json", url.Values{"uid": {"1"}}, 21335},
		{"a post that is not there", "GET", "/2/statuses/show.json", url.Values{"id": {"1"}}, 20101},
	}
	for _, tt := range tests {
		s := New(Options{})
		if code, answer := call(t, s, tt.method, tt.path, tt.form); code != tt.code {
			t.Errorf("%s: %v, want %d", tt.name, answer, tt.code)
		}
		if tt.code != 0 && len(s.Posts()) != 0 {
			t.Errorf("%s: there is a post all the same", tt.name)
		}
	}
}

func TestAPictureIsLookedAt(t *testing.T) {
	for content, want := range map[string]int{
		"GIF89a":                              0,
		"\x89PNG\r\n\x1a\n":                   0,
		"RIFF\x00\x00\x00\x00WEBPVP":          20005,
		"":                                    20007,
		"GIF89a" + strings.Repeat("x", 5<<20): 20006,
	} {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for name, value := range map[string]string{"access_token": "2.00token", "status": "文 https://example.com/", "rip": "127.0.0.1"} {
			_ = w.WriteField(name, value)
		}
		part, err := w.CreateFormFile("pic", "a.gif")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write([]byte(content))
		_ = w.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://weibo.test/2/statuses/share.json", &body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", w.FormDataContentType())
		if code, _ := do(t, New(Options{}), r); code != want {
			t.Errorf("%.10q: code %d, want %d", content, code, want)
		}
	}
}

func TestADayHasItsCallsAndTheStatusDoesNotTell(t *testing.T) {
	s := New(Options{PerDay: 3})
	for range 2 {
		call(t, s, "GET", "/2/statuses/user_timeline.json", url.Values{})
	}
	if _, answer := call(t, s, "GET", "/2/account/rate_limit_status.json", url.Values{}); answer["remaining_user_hits"].(float64) < 100 {
		t.Errorf("limits %v, want credit", answer)
	}
	if code, _ := call(t, s, "GET", "/2/statuses/user_timeline.json", url.Values{}); code != 10023 {
		t.Errorf("code %d, want 10023", code)
	}
}

func TestATextThatWasEncodedTwiceShows(t *testing.T) {
	s := New(Options{})
	call(t, s, "POST", "/2/statuses/share.json", status(url.QueryEscape("文")+" https://example.com/"))
	if got := s.Posts()[0].Text; got != "%E6%96%87 https://example.com/" {
		t.Errorf("text %q", got)
	}
}

func TestALongerLimitCanBeGranted(t *testing.T) {
	for n, want := range map[int]int{1980: 0, 2000: 20012} {
		s := New(Options{Limit: 2000})
		if code, _ := call(t, s, "POST", "/2/statuses/share.json", status(strings.Repeat("文", n)+" https://example.com/")); code != want {
			t.Errorf("%d characters: code %d, want %d", n, code, want)
		}
	}
}

func TestARepeatIsRefusedForAWhile(t *testing.T) {
	now := time.Now()
	s := New(Options{Now: func() time.Time { return now }})
	for _, step := range []struct {
		after time.Duration
		code  int
	}{{0, 0}, {0, 20019}, {repeatAfter - 2*time.Second, 20019}, {3 * time.Second, 0}} {
		now = now.Add(step.after)
		if code, _ := call(t, s, "POST", "/2/statuses/share.json", status("文 https://example.com/")); code != step.code {
			t.Errorf("%v later: code %d, want %d", step.after, code, step.code)
		}
	}
}

func TestTheTimelineHasFivePostsWithShortLinks(t *testing.T) {
	s := New(Options{})
	for _, text := range []string{"一", "二", "三", "四", "五", "六"} {
		call(t, s, "POST", "/2/statuses/share.json", status(text+" https://example.com/"))
	}
	s.AddByHand("七", time.Now())
	for base, newest := range map[string]string{"0": "七", "1": "六 http://t.cn/A"} {
		_, answer := call(t, s, "GET", "/2/statuses/user_timeline.json", url.Values{"base_app": {base}, "count": {"100"}})
		list, _ := answer["statuses"].([]any)
		if len(list) != 5 {
			t.Fatalf("%d posts, want 5", len(list))
		}
		first, _ := list[0].(map[string]any)
		if text, _ := first["text"].(string); !strings.HasPrefix(text, newest) {
			t.Errorf("base_app=%s: newest %q, want %q", base, text, newest)
		}
		if id, _ := first["id"].(float64); id <= 1<<32 {
			t.Errorf("id %v, want one of 64 bits", id)
		}
	}
}
