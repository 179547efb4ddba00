package xiaohongshu

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"

	"herald/internal/httpx"
	"herald/platforms"
)

// The calls, as errors name them.
const (
	opHealth  = "health"
	opLogin   = "login/status"
	opPublish = "publish"
	opNotes   = "user/me"
	opDetail  = "feeds/detail"
)

// How long the calls may take. The interface gives a page 300 s to open and each
// picture 60 s; a call that ends before it does cancels the browser half way.
const (
	publishTimeout = 11 * time.Minute
	readTimeout    = 2 * time.Minute
)

const noVerdict = "answered neither with success nor with an error"

// note is a note of the account, as a list shows it. Its id is enough to find it;
// strangers need the token too.
type note struct {
	ID    string `json:"id"`
	Token string `json:"xsecToken"`
	Card  struct {
		Title string `json:"displayTitle"`
	} `json:"noteCard"`
}

// created is when the note was made: the first eight of the 24 hex digits of an id
// are the seconds since 1970. Zero for any other id.
func (n note) created() time.Time {
	if len(n.ID) != 24 {
		return time.Time{}
	}
	seconds, err := strconv.ParseInt(n.ID[:8], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

func (n note) receipt() platforms.Receipt {
	r := platforms.Receipt{ID: n.ID, URL: "https://www.xiaohongshu.com/explore/" + url.PathEscape(n.ID)}
	if n.Token != "" {
		r.URL += "?xsec_token=" + url.QueryEscape(n.Token)
	}
	return r
}

// publication is what is sent to be published. The images are paths where the
// interface runs.
type publication struct {
	Title      string   `json:"title"`
	Content    string   `json:"content"`
	Images     []string `json:"images"`
	Tags       []string `json:"tags,omitempty"`
	IsOriginal bool     `json:"is_original,omitempty"`
	Visibility string   `json:"visibility,omitempty"`
}

// publish has the interface publish a note. Its answer names none.
func (c *Client) publish(ctx context.Context, p publication) error {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	reply, err := c.do(ctx, httpx.Write, opPublish, http.MethodPost, "/api/v1/publish", p)
	if err != nil {
		return err
	}
	if err := failure(httpx.Write, reply); err != nil {
		return err
	}
	var answer struct {
		Success bool `json:"success"`
	}
	if err := reply.JSON(&answer); err != nil {
		return err
	}
	if !answer.Success {
		return reply.Fail(platforms.Uncertain, strconv.Itoa(reply.Status), noVerdict)
	}
	return nil
}

// notes returns the first page of the account's own notes. Some versions wrap the
// data twice, and an account without notes may have null for a list. An answer without
// any list is a failure: it does not say that a note is absent.
func (c *Client) notes(ctx context.Context) ([]note, error) {
	var answer struct {
		Data struct {
			Feeds json.RawMessage `json:"feeds"`
			Data  struct {
				Feeds json.RawMessage `json:"feeds"`
			} `json:"data"`
		} `json:"data"`
	}
	if err := c.read(ctx, opNotes, http.MethodGet, "/api/v1/user/me?tab=note", nil, &answer); err != nil {
		return nil, err
	}
	list := answer.Data.Data.Feeds
	if list == nil {
		list = answer.Data.Feeds
	}
	var notes []note
	if err := json.Unmarshal(list, &notes); err != nil {
		return nil, &platforms.Error{
			Platform: platform, Op: opNotes, Kind: platforms.Dependency, Message: "the answer holds no list of notes", Err: err,
		}
	}
	return notes, nil
}

// exists asks whether a note that is in no list is still to be seen.
func (c *Client) exists(ctx context.Context, n note) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	body := map[string]string{"feed_id": n.ID, "xsec_token": n.Token}
	reply, err := c.do(ctx, httpx.Read, opDetail, http.MethodPost, "/api/v1/feeds/detail", body)
	if err != nil {
		return false, err
	}
	if readComplaint(reply).isGone() {
		return false, nil
	}
	if err := failure(httpx.Read, reply); err != nil {
		return false, err
	}
	var answer struct {
		Data struct {
			Data struct {
				Note struct {
					ID string `json:"noteId"`
				} `json:"note"`
			} `json:"data"`
		} `json:"data"`
	}
	if err := succeeded(reply, &answer); err != nil {
		return false, broken(ctx, err)
	}
	if answer.Data.Data.Note.ID == "" {
		return false, reply.Fail(platforms.Dependency, strconv.Itoa(reply.Status), "the answer holds no note")
	}
	return true, nil
}

// isLoggedIn asks for the state of the session.
func (c *Client) isLoggedIn(ctx context.Context) (bool, error) {
	var answer struct {
		Data struct {
			IsLoggedIn bool `json:"is_logged_in"`
		} `json:"data"`
	}
	err := c.read(ctx, opLogin, http.MethodGet, "/api/v1/login/status", nil, &answer)
	return answer.Data.IsLoggedIn, err
}

// version asks which one the interface is. It opens no browser.
func (c *Client) version(ctx context.Context) (string, error) {
	var answer struct {
		Data struct {
			Version string `json:"version"`
		} `json:"data"`
	}
	err := c.read(ctx, opHealth, http.MethodGet, "/health", nil, &answer)
	return answer.Data.Version, err
}

func (c *Client) read(ctx context.Context, op, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	reply, err := c.do(ctx, httpx.Read, op, method, path, body)
	if err != nil {
		return err
	}
	if err := failure(httpx.Read, reply); err != nil {
		return err
	}
	return broken(ctx, succeeded(reply, out))
}

// succeeded decodes the answer to a read. One that does not call itself a success
// tells nothing, not even that the account is logged out.
func succeeded(r *httpx.Reply, out any) error {
	var answer struct {
		Success bool `json:"success"`
	}
	if err := r.JSON(&answer); err != nil {
		return err
	}
	if !answer.Success {
		return r.Fail(platforms.Dependency, strconv.Itoa(r.Status), noVerdict)
	}
	return r.JSON(out)
}

func (c *Client) do(ctx context.Context, call httpx.Call, op, method, path string, body any) (*httpx.Reply, error) {
	reply, err := c.http.Do(ctx, call, op, method, path, func(r *resty.Request) {
		if c.cfg.Token != "" {
			r.SetAuthToken(c.cfg.Token.Reveal())
		}
		if body != nil {
			r.SetBody(body)
		}
	})
	return reply, broken(ctx, err)
}

// numbered matches a version such as v2.1.0; dates and "dev" have no number.
var numbered = regexp.MustCompile(`^v?(\d{1,3})\.(\d{1,3})\.(\d{1,3})$`)

// isFalse reports whether a version is known to report successes that are none:
// those before v2.1.1.
func isFalse(version string) bool {
	m := numbered.FindStringSubmatch(strings.TrimSpace(version))
	if m == nil {
		return false
	}
	number := 0
	for _, part := range m[1:] {
		n, _ := strconv.Atoi(part) // has three digits at most
		number = 1000*number + n
	}
	return number < 2_001_001
}
