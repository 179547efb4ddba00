package wechattest

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of an article.
const (
	maxTitle    = 64      // characters
	maxAuthor   = 16      // characters
	maxDigest   = 128     // characters
	maxText     = 20_000  // characters of content without mark-up
	maxContent  = 1 << 20 // bytes of content
	maxSource   = 1 << 10 // bytes of content_source_url
	maxArticles = 8       // of a draft
	maxImages   = 20      // of an image post
	autoDigest  = 54      // characters
	maxPage     = 20      // entries of a list
)

// Article is one article of a draft or a publication, as readers get it.
type Article struct {
	Type               string    `json:"article_type,omitempty"`
	Title              string    `json:"title"`
	Author             string    `json:"author"`
	Digest             string    `json:"digest"`
	Content            string    `json:"content,omitempty"`
	SourceURL          string    `json:"content_source_url"`
	ThumbMediaID       string    `json:"thumb_media_id"`
	ShowCover          int       `json:"show_cover_pic"`
	NeedOpenComment    int       `json:"need_open_comment"`
	OnlyFansCanComment int       `json:"only_fans_can_comment"`
	ImageInfo          *ImageSet `json:"image_info,omitempty"`
	URL                string    `json:"url"`
	Deleted            bool      `json:"is_deleted"`
}

// ImageSet is the pictures of an image post.
type ImageSet struct {
	List []struct {
		MediaID string `json:"image_media_id"`
	} `json:"image_list"`
}

// Draft is an entry of the draft box.
type Draft struct {
	MediaID          string
	Articles         []Article
	Created, Updated time.Time
}

// Drafts returns copies of the draft box, oldest first.
func (s *Server) Drafts() []Draft {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Draft, len(s.drafts))
	for i, d := range s.drafts {
		all[i] = *d
		all[i].Articles = slices.Clone(d.Articles)
	}
	return all
}

// RemoveDraft deletes a draft as a person does in the console.
func (s *Server) RemoveDraft(mediaID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeDraft(mediaID)
}

func (s *Server) removeDraft(mediaID string) {
	s.drafts = slices.DeleteFunc(s.drafts, func(d *Draft) bool { return d.MediaID == mediaID })
}

func (s *Server) draft(mediaID string) (*Draft, error) {
	for _, d := range s.drafts {
		if d.MediaID == mediaID {
			return d, nil
		}
	}
	return nil, fail(codeMediaID)
}

func (s *Server) addDraft(c *call) (any, error) {
	var in struct {
		Articles []Article `json:"articles"`
	}
	if err := c.decode(&in); err != nil {
		return nil, fail(codeNoArticles)
	}
	switch {
	case len(in.Articles) == 0:
		return nil, fail(codeNoArticles)
	case len(in.Articles) > maxArticles:
		return nil, fail(codeTooManyArticles)
	}
	for i := range in.Articles {
		if err := s.take(&in.Articles[i], c.now); err != nil {
			return nil, err
		}
	}
	d := &Draft{MediaID: s.id("d"), Articles: in.Articles, Created: c.now, Updated: c.now}
	s.drafts = append(s.drafts, d)
	return map[string]string{"media_id": d.MediaID}, nil
}

func (s *Server) updateDraft(c *call) (any, error) {
	var in struct {
		MediaID  string          `json:"media_id"`
		Index    int             `json:"index"`
		Articles json.RawMessage `json:"articles"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	var a Article
	if err := json.Unmarshal(in.Articles, &a); err != nil {
		return nil, fail(codeNoArticles) // a list, where this endpoint wants one article
	}
	d, err := s.draft(in.MediaID)
	switch {
	case err != nil:
		return nil, err
	case in.Index < 0 || in.Index >= len(d.Articles):
		return nil, fail(codeIndex)
	}
	if err := s.take(&a, c.now); err != nil {
		return nil, err
	}
	d.Articles[in.Index], d.Updated = a, c.now
	return done, nil
}

// take checks an article and makes of it what readers will see.
func (s *Server) take(a *Article, now time.Time) error {
	if err := s.check(a, now); err != nil {
		return err
	}
	if a.Type == "" {
		a.Type = "news"
	}
	if a.Digest == "" {
		text := []rune(strings.Join(strings.Fields(markup.ReplaceAllString(a.Content, " ")), " "))
		a.Digest = string(text[:min(len(text), autoDigest)])
	}
	a.Content = s.shown(a.Content)
	a.URL = "http://mp.weixin.qq.com/s?__biz=preview&tempkey=" + s.id("t")
	return nil
}

func (s *Server) check(a *Article, now time.Time) error {
	switch {
	case strings.TrimSpace(a.Title) == "":
		return fail(codeNoTitle)
	case utf8.RuneCountInString(a.Title) > maxTitle:
		return fail(codeTitleTooLong)
	case utf8.RuneCountInString(a.Author) > maxAuthor:
		return fail(codeAuthorTooLong)
	case utf8.RuneCountInString(a.Digest) > maxDigest:
		return fail(codeDigestTooLong)
	case len(a.SourceURL) > maxSource, a.SourceURL != "" && !isWeb(a.SourceURL):
		return fail(codeSourceURL)
	case a.NeedOpenComment == 1 && s.options.NoComments:
		return fail(codeNoComments)
	case len(a.Content) >= maxContent, utf8.RuneCountInString(markup.ReplaceAllString(a.Content, "")) >= maxText:
		return fail(codeContentTooLarge)
	case forbidden.MatchString(a.Content):
		return fail(codeContent)
	}
	if a.Type == "newspic" {
		return s.checkImages(a, now)
	}
	if strings.TrimSpace(a.Content) == "" {
		return fail(codeEmptyText)
	}
	if !s.knows(a.ThumbMediaID, now) {
		return fail(codeMediaID)
	}
	return nil
}

func (s *Server) checkImages(a *Article, now time.Time) error {
	switch {
	case a.ImageInfo == nil || len(a.ImageInfo.List) == 0:
		return fail(codeNoImages)
	case len(a.ImageInfo.List) > maxImages:
		return fail(codeImageCount)
	case markup.MatchString(a.Content):
		return fail(codeContent)
	}
	for _, im := range a.ImageInfo.List {
		if !s.knows(im.MediaID, now) {
			return fail(codeMediaID)
		}
	}
	return nil
}

func isWeb(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

var (
	markup    = regexp.MustCompile(`<[^>]*>`)
	forbidden = regexp.MustCompile(`(?i)<(script|iframe|form|input|button|object|embed)\b`)
	imgTag    = regexp.MustCompile(`(?i)<img\b[^>]*>`)
	source    = regexp.MustCompile(`(?i)\bsrc="([^"]*)"`)
	link      = regexp.MustCompile(`(?i)<a\b[^>]*\bhref="([^"]*)"[^>]*>`)
	looks     = regexp.MustCompile(`(?i)\s(class|id)="[^"]*"`)
)

// shown is what is left of a body: pictures from elsewhere vanish, links to
// elsewhere lead nowhere, and classes mean nothing.
func (s *Server) shown(content string) string {
	content = imgTag.ReplaceAllStringFunc(content, func(tag string) string {
		if m := source.FindStringSubmatch(tag); m != nil && strings.HasPrefix(strings.Replace(m[1], "https:", "http:", 1), imageHost) {
			return tag
		}
		return ""
	})
	content = link.ReplaceAllStringFunc(content, func(tag string) string {
		if m := link.FindStringSubmatch(tag); strings.HasPrefix(m[1], "https://mp.weixin.qq.com/") {
			return tag
		}
		return "<a>"
	})
	return looks.ReplaceAllString(content, "")
}

func (s *Server) getDraft(c *call) (any, error) {
	d, err := s.named(c)
	if err != nil {
		return nil, err
	}
	return map[string]any{"news_item": d.Articles, "create_time": d.Created.Unix(), "update_time": d.Updated.Unix()}, nil
}

// named is the draft that a request names.
func (s *Server) named(c *call) (*Draft, error) {
	var in struct {
		MediaID string `json:"media_id"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	return s.draft(in.MediaID)
}

func (s *Server) countDrafts(*call) (any, error) {
	return map[string]int{"total_count": len(s.drafts)}, nil
}

func (s *Server) deleteDraft(c *call) (any, error) {
	d, err := s.named(c)
	if err != nil {
		if s.options.DeletedTwice == 0 {
			return done, nil
		}
		return nil, err
	}
	s.removeDraft(d.MediaID)
	return done, nil
}
