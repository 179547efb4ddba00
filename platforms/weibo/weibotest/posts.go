package weibotest

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	visible     = 5 // posts in a user's timeline
	maxPicture  = 5 << 20
	repeatAfter = 10 * time.Minute
)

// Post is a post on the platform.
type Post struct {
	ID        int64
	Text      string // as it was sent
	Shown     string // as readers see it: with short links
	Picture   []byte // nil without one
	CreatedAt time.Time
	// ByHand says that the user wrote it, not the app.
	ByHand bool
}

// Posts returns copies of all posts, oldest first.
func (s *Server) Posts() []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	var posts []Post
	for _, p := range s.posts {
		posts = append(posts, *p)
	}
	return posts
}

// AddByHand makes a post that the user wrote at a time.
func (s *Server) AddByHand(text string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(text, nil, at).ByHand = true
}

// Delete takes a post away, as the user does by hand.
func (s *Server) Delete(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts = slices.DeleteFunc(s.posts, func(p *Post) bool { return p.ID == id })
}

func (s *Server) add(text string, picture []byte, at time.Time) *Post {
	s.lastID += 7_654_321
	p := &Post{ID: s.lastID, Text: text, Shown: text, Picture: picture, CreatedAt: at.Truncate(time.Second)}
	if !s.options.KeepLinks {
		p.Shown = links.ReplaceAllString(text, fmt.Sprintf("http://t.cn/A%06d", s.lastID%1_000_000))
	}
	s.posts = append(s.posts, p)
	return p
}

var (
	links  = regexp.MustCompile(`https?://[!-~]+`)
	topics = regexp.MustCompile(`#[^#]+#`)
)

func (s *Server) share(r *http.Request) (any, *refusal) {
	text, now := r.FormValue("status"), s.options.Now()
	if f := s.checkText(r, text); f != nil {
		return nil, f
	}
	picture, f := pictureOf(r)
	if f != nil {
		return nil, f
	}
	var posted []time.Time
	for _, p := range s.posts {
		if p.Text == text && !s.options.Repeats && now.Sub(p.CreatedAt) < repeatAfter {
			return nil, &refusal{code: 20019}
		}
		posted = append(posted, p.CreatedAt)
	}
	if s.since(time.Hour, posted) >= s.options.PerHour {
		return nil, &refusal{code: 10024}
	}
	return s.status(s.add(text, picture, now)), nil
}

func (s *Server) checkText(r *http.Request, text string) *refusal {
	switch {
	case !r.Form.Has("status"), r.FormValue("rip") == "":
		return &refusal{code: 10016}
	case strings.TrimSpace(text) == "":
		return &refusal{code: 20008}
	case s.options.NoDomain:
		return &refusal{code: 10017, text: "appkey not bind domain!"}
	case !slices.ContainsFunc(links.FindAllString(text, -1), s.isOurs):
		return &refusal{code: 10017}
	case topics.MatchString(text):
		return &refusal{code: 10017, text: "text can not contain topic!"}
	case length(text) > s.options.Limit:
		return &refusal{code: 20012}
	}
	return nil
}

// isOurs reports whether an address is on the security domain.
func (s *Server) isOurs(link string) bool {
	u, err := url.Parse(link)
	return err == nil && (u.Hostname() == s.options.Domain || strings.HasSuffix(u.Hostname(), "."+s.options.Domain))
}

// length counts an ASCII character as half of one, and rounds up.
func length(text string) int {
	halves := 0
	for _, r := range text {
		halves++
		if r > unicode.MaxASCII {
			halves++
		}
	}
	return (halves + 1) / 2
}

// pictureOf reads the picture of a request; nil if there is none.
func pictureOf(r *http.Request) ([]byte, *refusal) {
	if r.MultipartForm == nil {
		return nil, nil
	}
	f, _, err := r.FormFile("pic")
	if err != nil {
		return nil, &refusal{code: 20007}
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	switch {
	case err != nil, len(data) == 0:
		return nil, &refusal{code: 20007}
	case len(data) >= maxPicture:
		return nil, &refusal{code: 20006}
	case !slices.Contains([]string{"image/jpeg", "image/gif", "image/png"}, http.DetectContentType(data)):
		return nil, &refusal{code: 20005}
	}
	return data, nil
}

// timeline lists the user's posts, newest first, no more than five.
func (s *Server) timeline(r *http.Request) (any, *refusal) {
	if uid := r.FormValue("uid"); uid != "" && uid != strconv.FormatInt(s.options.UID, 10) {
		return nil, &refusal{code: 21335}
	}
	since, _ := strconv.ParseInt(r.FormValue("since_id"), 10, 64) // without one it is 0
	list := []any{}
	for _, p := range slices.Backward(s.posts) {
		shown := s.options.Now().Sub(p.CreatedAt) >= s.options.Lag
		if shown && p.ID > since && (r.FormValue("base_app") != "1" || !p.ByHand) && len(list) < visible {
			list = append(list, s.status(p))
		}
	}
	return map[string]any{"statuses": list, "total_number": len(s.posts)}, nil
}

func (s *Server) show(r *http.Request) (any, *refusal) {
	for _, p := range s.posts {
		if strconv.FormatInt(p.ID, 10) == r.FormValue("id") {
			return s.status(p), nil
		}
	}
	return nil, &refusal{code: 20101}
}

// status is a post as the API shows it.
func (s *Server) status(p *Post) any {
	id, uid := strconv.FormatInt(p.ID, 10), strconv.FormatInt(s.options.UID, 10)
	status := map[string]any{
		"created_at": p.CreatedAt.In(time.FixedZone("", 8*60*60)).Format(time.RubyDate),
		"id":         p.ID, "mid": id, "idstr": id, "text": p.Shown, "source": "herald", "pic_urls": []any{},
		"user": map[string]any{
			"id": s.options.UID, "idstr": uid, "screen_name": "herald", "profile_url": "u/" + uid,
		},
		"visible":       map[string]any{"type": 0, "list_id": 0},
		"reposts_count": 0, "comments_count": 0, "attitudes_count": 0,
	}
	if p.Picture != nil {
		status["pic_urls"] = []any{map[string]string{"thumbnail_pic": "http://wx1.sinaimg.cn/thumbnail/" + id + ".jpg"}}
		status["original_pic"] = "http://wx1.sinaimg.cn/large/" + id + ".jpg"
	}
	return status
}
