package wechattest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The values of publish_status that mean something to the platform itself.
const (
	statusPublished = 0
	statusOwner     = 5 // the owner has deleted it
	statusBanned    = 6 // the platform has
)

// Publication is an article that readers can see.
type Publication struct {
	ArticleID string
	Articles  []Article
	Updated   time.Time
}

// job is one freepublish/submit.
type job struct {
	mediaID   string
	statuses  []int
	finish    time.Time
	articleID string // once published
}

// Publications returns copies of what readers can see, oldest first.
func (s *Server) Publications() []Publication {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishJobs(s.options.Now())
	all := make([]Publication, len(s.articles))
	for i, p := range s.articles {
		all[i] = *p
		all[i].Articles = slices.Clone(p.Articles)
	}
	return all
}

// PublishByHand publishes a draft as a person does in the console, and returns the
// address.
func (s *Server) PublishByHand(mediaID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.draft(mediaID)
	if err != nil {
		return ""
	}
	return s.publish(d, s.options.Now()).Articles[0].URL
}

// Reserve makes the platform keep an article: it cannot be deleted any more.
func (s *Server) Reserve(articleID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved[articleID] = true
}

// publish moves a draft to the publications.
func (s *Server) publish(d *Draft, now time.Time) *Publication {
	p := &Publication{ArticleID: s.id("a"), Articles: d.Articles, Updated: now}
	for i := range p.Articles {
		p.Articles[i].URL = "https://mp.weixin.qq.com/s/" + s.id("s")
	}
	s.removeDraft(d.MediaID)
	s.articles = append(s.articles, p)
	return p
}

func (s *Server) submit(c *call) (any, error) {
	d, err := s.named(c)
	if err != nil {
		return nil, err
	}
	for _, j := range s.jobs {
		if j.mediaID == d.MediaID && j.publishes() {
			return nil, fail(codeTooOften)
		}
	}
	s.serial++
	id := fmt.Sprint(100_000_000 + s.serial)
	s.jobs[id] = &job{mediaID: d.MediaID, statuses: slices.Clone(s.options.Statuses), finish: c.now.Add(s.options.PublishTime)}
	s.finishJobs(c.now)
	return struct {
		ok
		PublishID any `json:"publish_id"`
		DataID    any `json:"msg_data_id"`
	}{done, s.number(id), s.number("2247483647")}, nil
}

// number is an id as the platform may send it: as a text or as a number.
func (s *Server) number(id string) any {
	if !s.options.NumericIDs {
		return id
	}
	var n int64
	_, _ = fmt.Sscan(id, &n) // ids of jobs are digits
	return n
}

func (j *job) publishes() bool { return slices.Contains(j.statuses, statusPublished) }

// finishJobs publishes what has been long enough on its way.
func (s *Server) finishJobs(now time.Time) {
	for _, j := range s.jobs {
		if j.articleID == "" && j.publishes() && !now.Before(j.finish) {
			s.finish(j, now)
		}
	}
}

func (s *Server) finish(j *job, now time.Time) {
	if d, err := s.draft(j.mediaID); err == nil {
		j.articleID = s.publish(d, now).ArticleID
	}
}

func (s *Server) status(c *call) (any, error) {
	var in struct {
		PublishID json.RawMessage `json:"publish_id"` // a text or a number
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	id := strings.Trim(string(in.PublishID), `"`)
	j, ok := s.jobs[id]
	if !ok {
		return nil, fail(codePublishID)
	}
	status := j.statuses[0]
	if len(j.statuses) > 1 {
		j.statuses = j.statuses[1:]
	}
	reply := map[string]any{"publish_id": s.number(id), "publish_status": status, "fail_idx": []int{}}
	switch status {
	case statusPublished:
		if j.articleID == "" {
			s.finish(j, c.now)
		}
		reply["article_id"], reply["article_detail"] = j.articleID, s.detail(j.articleID)
	case statusOwner, statusBanned:
		s.removeArticle(j.articleID)
	case 2, 4:
		reply["fail_idx"] = []int{1}
	}
	return reply, nil
}

// detail lists the addresses of a publication.
func (s *Server) detail(articleID string) any {
	type item struct {
		Index int    `json:"idx"`
		URL   string `json:"article_url"`
	}
	items := []item{}
	for _, p := range s.articles {
		if p.ArticleID == articleID {
			for i, a := range p.Articles {
				items = append(items, item{i + 1, a.URL})
			}
		}
	}
	return map[string]any{"count": len(items), "item": items}
}

func (s *Server) removeArticle(articleID string) bool {
	before := len(s.articles)
	s.articles = slices.DeleteFunc(s.articles, func(p *Publication) bool { return p.ArticleID == articleID })
	return len(s.articles) < before
}

func (s *Server) deleteArticle(c *call) (any, error) {
	var in struct {
		ArticleID string `json:"article_id"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	switch {
	case s.reserved[in.ArticleID]:
		return nil, fail(codeReserved)
	case !s.removeArticle(in.ArticleID):
		return nil, fail(codeArticleID)
	}
	return done, nil
}

// entry is one of a list of drafts or publications.
type entry struct {
	MediaID   string  `json:"media_id,omitempty"`
	ArticleID string  `json:"article_id,omitempty"`
	Content   content `json:"content"`
	Updated   int64   `json:"update_time"`
}

type content struct {
	News []Article `json:"news_item"`
}

func (s *Server) listDrafts(c *call) (any, error) {
	var all []entry
	for _, d := range s.drafts {
		all = append(all, entry{MediaID: d.MediaID, Content: content{d.Articles}, Updated: d.Updated.Unix()})
	}
	return s.page(c, all)
}

func (s *Server) listArticles(c *call) (any, error) {
	var all []entry
	for _, p := range s.articles {
		all = append(all, entry{ArticleID: p.ArticleID, Content: content{p.Articles}, Updated: p.Updated.Unix()})
	}
	return s.page(c, all)
}

// page is the part of a list that a request asks for.
func (s *Server) page(c *call, all []entry) (any, error) {
	var in struct {
		Offset    int `json:"offset"`
		Count     int `json:"count"`
		NoContent any `json:"no_content"` // 0 or 1; clients send true too
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.Count < 1 || in.Count > maxPage || in.Offset < 0 {
		return nil, fail(codeArgument)
	}
	if !s.options.OldestFirst {
		slices.Reverse(all)
	}
	bare := in.NoContent == true || in.NoContent == 1.0
	items := append([]entry{}, all[min(in.Offset, len(all)):min(in.Offset+in.Count, len(all))]...)
	for i := range items {
		items[i].Content.News = slices.Clone(items[i].Content.News)
		for j := range items[i].Content.News {
			if bare {
				items[i].Content.News[j].Content = ""
			}
		}
	}
	return map[string]any{"total_count": len(all), "item_count": len(items), "item": items}, nil
}
