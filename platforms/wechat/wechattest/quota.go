package wechattest

import (
	"strings"
	"time"
)

// beijing is the platform's zone, which has no summer time.
var beijing = time.FixedZone("+08:00", 8*60*60)

// daily are the limits of a new account.
var daily = map[string]int{
	"token": 2_000, "stable_token": 500_000, "media/uploadimg": 100_000, "material/add_material": 100_000,
	"draft/add": 1_000, "draft/get": 500, "draft/update": 1_000, "draft/delete": 1_000, "draft/count": 1_000,
	"draft/batchget": 1_000, "freepublish/submit": 100, "freepublish/get": 100, "freepublish/delete": 10,
	"freepublish/batchget": 100,
}

// usage counts the calls of one endpoint.
type usage struct {
	day, minute     string
	today, inMinute int
}

func day(t time.Time) string { return t.In(beijing).Format(time.DateOnly) }

func (s *Server) limit(endpoint string) int {
	if n, ok := s.options.Daily[endpoint]; ok {
		return n
	}
	return daily[endpoint]
}

// count notes one more call and refuses it if it is one too many.
func (s *Server) count(endpoint string, now time.Time) error {
	u := s.usage(endpoint, now)
	u.today++
	u.inMinute++
	if n := s.limit(endpoint); n > 0 && u.today > n {
		return fail(codeDayQuota)
	}
	if n := s.options.PerMinute[endpoint]; n > 0 && u.inMinute > n {
		return fail(codeMinuteQuota)
	}
	return nil
}

// usage returns the counter of an endpoint, which begins anew at midnight and with
// each minute.
func (s *Server) usage(endpoint string, now time.Time) *usage {
	u := s.used[endpoint]
	if u == nil {
		u = &usage{}
		s.used[endpoint] = u
	}
	if today := day(now); u.day != today {
		u.day, u.today = today, 0
	}
	if minute := now.UTC().Format("2006-01-02T15:04"); u.minute != minute {
		u.minute, u.inMinute = minute, 0
	}
	return u
}

func (s *Server) quota(c *call) (any, error) {
	var in struct {
		Path string `json:"cgi_path"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(in.Path, "/cgi-bin/")
	if _, ok := daily[name]; !ok {
		return nil, fail(codePath)
	}
	limit := s.limit(name)
	used := min(s.usage(name, c.now).today, limit)
	return struct {
		ok
		Quota map[string]int `json:"quota"`
	}{done, map[string]int{"daily_limit": limit, "used": used, "remain": limit - used}}, nil
}
