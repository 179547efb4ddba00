package xiaohongshutest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

const (
	publishFailed = "PUBLISH_FAILED"
	userID        = "5f0000000000000001000001"
	maxTitle      = 20
	maxContent    = 1000
	maxImages     = 18
	maxTags       = 10
)

// visibilities are the words of the page.
var visibilities = []string{"公开可见", "仅自己可见", "仅互关好友可见"}

// Note is a note on the platform.
type Note struct {
	ID, Title, Content string
	Images             [][]byte
	Tags               []string
	Visibility         string
	Original           bool
	CreatedAt          time.Time
}

// Notes returns copies of all notes, oldest first.
func (s *Server) Notes() []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	var notes []Note
	for _, n := range s.notes {
		notes = append(notes, *n)
	}
	return notes
}

// Add makes a note by hand, at a time.
func (s *Server) Add(title string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(Note{Title: title, Visibility: visibilities[0], CreatedAt: at})
}

// Delete takes a note away, as its author does by hand.
func (s *Server) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = slices.DeleteFunc(s.notes, func(n *Note) bool { return n.ID == id })
}

func (s *Server) add(n Note) {
	s.serial++
	n.ID = fmt.Sprintf("%08x%016x", n.CreatedAt.Unix(), s.serial)
	s.notes = append(s.notes, &n)
}

// request is the body of a publication.
type request struct {
	Title      string   `json:"title"`
	Content    string   `json:"content"`
	Images     []string `json:"images"`
	Tags       []string `json:"tags"`
	IsOriginal bool     `json:"is_original"`
	Visibility string   `json:"visibility"`
}

func (s *Server) publish(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		refuse(w, &refusal{http.StatusBadRequest, "INVALID_REQUEST", err.Error()})
		return
	}
	for name, missing := range map[string]bool{"Title": req.Title == "", "Content": req.Content == "", "Images": len(req.Images) == 0} {
		if missing {
			refuse(w, &refusal{http.StatusBadRequest, "INVALID_REQUEST", fmt.Sprintf(
				"Key: 'PublishRequest.%s' Error:Field validation for '%[1]s' failed on the 'required' tag", name)})
			return
		}
	}
	note, fault := s.fill(r, req)
	if fault != "" {
		refuse(w, &refusal{http.StatusInternalServerError, publishFailed, fault})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	note.CreatedAt = s.options.Now()
	s.add(note)
	succeed(w, "发布成功", map[string]any{
		"title": req.Title, "content": req.Content, "images": len(req.Images), "status": "发布完成",
	})
}

const noTitleField = "查找标题输入框失败: context deadline exceeded"

// fill goes through the page in the order of the interface, and says where it gets
// stuck.
func (s *Server) fill(r *http.Request, req request) (Note, string) {
	o := s.current()
	if Units(req.Title) > maxTitle {
		return Note{}, "标题长度超过限制"
	}
	s.wait(r, o.PublishTime)
	var images [][]byte
	for _, path := range req.Images {
		if strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://") {
			images = append(images, nil) // fetched by the interface itself
		} else if data, err := o.ReadFile(path); err == nil {
			images = append(images, data)
		} // a file that is not there is skipped, which only its log tells
	}
	if o.LoggedOut || len(images) == 0 || len(images) > maxImages {
		s.wait(r, o.Stall)
		return Note{}, noTitleField
	}
	tags := req.Tags[:min(len(req.Tags), maxTags)]
	length := units16(req.Content)
	for _, tag := range tags {
		length += units16("#"+strings.TrimLeft(tag, "#")) + 1
	}
	if length > maxContent {
		return Note{}, fmt.Sprintf("当前输入长度为%d，最大长度为%d", length, maxContent)
	}
	visibility := visibilities[0]
	if req.Visibility != "" {
		if visibility = req.Visibility; !slices.Contains(visibilities, visibility) {
			return Note{}, "不支持的可见范围: " + visibility
		}
	}
	return Note{
		Title: req.Title, Content: req.Content, Images: images, Tags: tags, Visibility: visibility, Original: req.IsOriginal,
	}, ""
}

// wait lets time pass; a client that goes ends the browser's run.
func (s *Server) wait(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// Units is the length of a title as the interface counts: a UTF-16 unit above 127
// counts two halves, any other one, and the sum is rounded up.
func Units(title string) int {
	halves := 0
	for _, unit := range utf16.Encode([]rune(title)) {
		halves++
		if unit > 127 {
			halves++
		}
	}
	return (halves + 1) / 2
}

func units16(text string) int { return len(utf16.Encode([]rune(text))) }

// me lists the first page of the own notes, newest first, the pinned one on top.
// Notes that are not public are not listed.
func (s *Server) me(w http.ResponseWriter, r *http.Request) {
	o := s.current()
	if o.LoggedOut {
		refuse(w, &refusal{http.StatusInternalServerError, "GET_MY_PROFILE_FAILED", "获取用户主页失败: context deadline exceeded"})
		return
	}
	feeds := []any{}
	if o.Pinned != "" {
		feeds = append(feeds, feed(0, &Note{ID: "600000000000000000000001", Title: o.Pinned}))
	}
	if tab := r.FormValue("tab"); tab == "" || tab == "note" {
		for _, n := range slices.Backward(s.Notes()) {
			shown := n.Visibility == visibilities[0] && o.Now().Sub(n.CreatedAt) >= o.Lag
			if shown && len(feeds) < o.Page {
				feeds = append(feeds, feed(len(feeds), &n))
			}
		}
	}
	succeed(w, "获取我的主页成功", map[string]any{"data": map[string]any{
		"userBasicInfo": map[string]any{"nickname": "herald", "redId": "1"}, "interactions": []any{}, "feeds": feeds,
	}})
}

func feed(index int, n *Note) any {
	return map[string]any{
		"xsecToken": tokenOf(n.ID), "id": n.ID, "modelType": "note", "index": index,
		"noteCard": map[string]any{
			"type": "normal", "displayTitle": n.Title,
			"user":         map[string]any{"userId": userID, "nickname": "herald", "nickName": "herald", "avatar": ""},
			"interactInfo": map[string]any{"liked": false, "likedCount": "0", "sharedCount": "0", "commentCount": "0", "collectedCount": "0", "collected": false},
			"cover":        map[string]any{"width": 1080, "height": 1440, "url": "", "fileId": "", "urlPre": "", "urlDefault": "", "infoList": []any{}},
		},
	}
}

// tokenOf is the token that visitors of a note need.
func tokenOf(id string) string { return "AB" + id[len(id)-4:] + "=" }

func (s *Server) detail(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID    string `json:"feed_id"`
		Token string `json:"xsec_token"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.ID == "" || req.Token == "" {
		refuse(w, &refusal{http.StatusBadRequest, "INVALID_REQUEST", nil})
		return
	}
	for _, n := range s.Notes() {
		if n.ID == req.ID && req.Token == tokenOf(n.ID) {
			succeed(w, "获取Feed详情成功", map[string]any{"feed_id": n.ID, "data": map[string]any{
				"note": map[string]any{
					"noteId": n.ID, "xsecToken": tokenOf(n.ID), "title": n.Title, "desc": n.Content, "type": "normal",
					"time": n.CreatedAt.UnixMilli(), "imageList": make([]any, len(n.Images)),
				},
				"comments": map[string]any{},
			}})
			return
		}
	}
	refuse(w, &refusal{http.StatusInternalServerError, "GET_FEED_DETAIL_FAILED", "笔记不可访问: 该笔记已被删除"})
}
