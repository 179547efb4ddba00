package platformtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/article"
	"herald/platforms"
)

const (
	token     = "open sesame/42"
	maxTitle  = 100
	codeSpam  = "4001"
	codeBusy  = "5001"
	codeOther = "9999"
)

var fakeCodes = platforms.Codes{codeSpam: platforms.Rejected, codeBusy: platforms.RateLimited}

// server is a small platform that takes everything and recognises nothing.
type server struct {
	mu     sync.Mutex
	posts  map[string]fakePost
	media  int
	nextID int
	answer string
}

type fakePost struct{ Key, Title, Text string }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := strings.TrimPrefix(r.URL.Path, "/posts/")
	_, exists := s.posts[id]
	switch {
	case r.Header.Get("Authorization") != "Bearer "+token:
		w.WriteHeader(http.StatusUnauthorized)
	case s.answer != "":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"code":%q}`, s.answer)
	case r.URL.Path == "/media":
		s.media++
		fmt.Fprintf(w, `{"id":"m%d"}`, s.media)
	case r.URL.Path == "/me":
		fmt.Fprint(w, `{"id":"me"}`)
	case r.Method == http.MethodPost:
		s.nextID++
		s.save(w, r, "p"+strconv.Itoa(s.nextID))
	case r.Method == http.MethodGet:
		for id, p := range s.posts {
			if key := r.FormValue("key"); p.Key == key || key == "" {
				fmt.Fprintf(w, `{"id":%q}`, id)
				return
			}
		}
		fmt.Fprint(w, `{"id":""}`)
	case !exists:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPut:
		s.save(w, r, id)
	default: // DELETE
		delete(s.posts, id)
		fmt.Fprint(w, `{}`)
	}
}

func (s *server) save(w http.ResponseWriter, r *http.Request, id string) {
	var p fakePost
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	s.posts[id] = p
	fmt.Fprintf(w, `{"id":%q}`, id)
}

// client is an adapter for server that keeps every promise, but for its flaw.
type client struct {
	flaw    string
	env     platforms.Env
	renders atomic.Int64
	mu      sync.Mutex
	lastID  string
}

func (c *client) Render(a *article.Article) (platforms.Post, error) {
	p := platforms.Post{Slug: a.ID, Title: a.Title, Body: a.Body, Images: a.Images, ContentType: "text/markdown"}
	if len(a.Title) > maxTitle && c.flaw != "takes any title" {
		if c.flaw == "names no limit" {
			return p, platforms.Rejectf("fake", "render", "too long")
		}
		return p, platforms.Rejectf("fake", "render", "title has %d of %d bytes", len(a.Title), maxTitle)
	}
	switch c.flaw {
	case "renders differently":
		p.Body += strconv.FormatInt(c.renders.Add(1), 10)
	case "changes the article":
		c.mu.Lock()
		defer c.mu.Unlock()
		a.Tags[0] = "changed"
	}
	return p, nil
}

func (c *client) Publish(ctx context.Context, p platforms.Post, m platforms.Memo) (platforms.Receipt, error) {
	if id, ok := m.Get("id"); ok && c.flaw != "forgets its post" {
		return platforms.Receipt{ID: id}, nil
	}
	for _, im := range p.Images {
		if _, done := m.Get(platforms.MediaKey + im.SHA256); done && c.flaw != "uploads again" {
			continue
		}
		id, err := c.call(ctx, "upload", http.MethodPost, "/media", im.Name)
		if err != nil {
			return platforms.Receipt{}, err
		}
		if c.flaw == "uploads again" {
			continue
		}
		if err := c.note(m, platforms.MediaKey+im.SHA256, id); err != nil {
			return platforms.Receipt{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flaw == "mixes articles" && c.lastID != "" {
		return platforms.Receipt{ID: c.lastID}, nil
	}
	id, err := c.call(ctx, "publish", http.MethodPost, "/posts", fakePost{p.Key, p.Title, p.Body})
	if err != nil {
		return platforms.Receipt{}, err
	}
	c.lastID = id
	if c.flaw == "posts twice" {
		id, err = c.call(ctx, "publish", http.MethodPost, "/posts", fakePost{p.Key, p.Title, p.Body})
	}
	if c.flaw == "gives no id" {
		return platforms.Receipt{}, nil
	}
	return platforms.Receipt{ID: id}, errors.Join(err, c.note(m, "id", id))
}

// note keeps what a call achieved; when it cannot, the outcome is unclear.
func (c *client) note(m platforms.Memo, key, value string) error {
	err := m.Set(key, value)
	if err == nil {
		return nil
	}
	kind := platforms.Uncertain
	if c.flaw == "takes a full disk for a refusal" {
		kind = platforms.Rejected
	}
	return &platforms.Error{Platform: "fake", Op: "note", Kind: kind, Err: err}
}

func (c *client) Find(ctx context.Context, p platforms.Post, _ time.Time, _ platforms.Memo) (platforms.Found, error) {
	key := p.Key
	if c.flaw == "finds any post" {
		key = ""
	}
	id, err := c.call(ctx, "find", http.MethodGet, "/posts?key="+key, nil)
	if err != nil || c.flaw == "finds nothing" {
		return platforms.Found{}, err
	}
	if id == "" {
		if c.flaw == "calls absence an error" {
			return platforms.Found{}, &platforms.Error{Platform: "fake", Op: "find", Kind: platforms.Unavailable, Message: "nothing there"}
		}
		return platforms.Found{}, nil
	}
	return platforms.Found{Outcome: platforms.Present, Receipt: platforms.Receipt{ID: id}}, nil
}

func (c *client) Update(ctx context.Context, p platforms.Post, r platforms.Receipt, _ platforms.Memo) (platforms.Receipt, error) {
	body := fakePost{p.Key, p.Title, p.Body}
	if c.flaw == "updates by deleting first" {
		if _, err := c.call(ctx, "update", http.MethodDelete, "/posts/"+r.ID, nil); err != nil {
			return r, err
		}
		id, err := c.call(ctx, "update", http.MethodPost, "/posts", body)
		return platforms.Receipt{ID: id}, err
	}
	_, err := c.call(ctx, "update", http.MethodPut, "/posts/"+r.ID, body)
	return r, err
}

func (c *client) Withdraw(ctx context.Context, r platforms.Receipt) error {
	_, err := c.call(ctx, "withdraw", http.MethodDelete, "/posts/"+r.ID, nil)
	if e, ok := errors.AsType[*platforms.Error](err); ok && e.Code == "404" && c.flaw != "cannot withdraw twice" {
		return nil
	}
	return err
}

func (c *client) Probe(ctx context.Context) error {
	method, path := http.MethodGet, "/me"
	if c.flaw == "probes by posting" {
		method, path = http.MethodPost, "/posts"
	}
	if c.flaw == "probes without its context" {
		ctx = context.WithoutCancel(ctx)
	}
	_, err := c.call(ctx, "probe", method, path, fakePost{Title: "probe"})
	return err
}

// call makes one request and returns the id in the answer.
func (c *client) call(ctx context.Context, op, method, path string, body any) (string, error) {
	fail := func(kind platforms.Kind, code string, err error) error {
		return &platforms.Error{Platform: "fake", Op: op, Kind: kind, Code: code, Message: err.Error()}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return "", fail(platforms.Invalid, "", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://fake"+path, bytes.NewReader(text))
	if err != nil {
		return "", fail(platforms.Invalid, "", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if c.flaw == "puts the token into the address" {
		req.URL.RawQuery = url.Values{"token": {token}}.Encode()
	}
	if ctx.Err() != nil {
		return "", fail(platforms.Unavailable, "", ctx.Err())
	}
	c.env.Log.DebugContext(ctx, "call", "op", op, "header", c.forLog(req))
	resp, err := (&http.Client{Transport: c.env.Transport}).Do(req)
	if err != nil {
		return "", c.broken(err, fail)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fail(platforms.Uncertain, "", err)
	}
	var answer struct{ ID, Code string }
	_ = json.Unmarshal(reply, &answer) // what is not JSON has neither id nor code
	if resp.StatusCode == http.StatusOK {
		return answer.ID, nil
	}
	code := cmp.Or(answer.Code, strconv.Itoa(resp.StatusCode))
	kind := fakeCodes.Kind(code)
	if c.flaw == "takes any code for a pause" {
		kind = platforms.Unavailable
	}
	message := errors.New(resp.Status)
	if c.flaw == "repeats the answer" {
		message = errors.New(string(reply))
	}
	return "", fail(kind, code, message)
}

func (c *client) forLog(req *http.Request) slog.Value {
	if c.flaw == "logs the token" {
		return slog.AnyValue(req.Header)
	}
	return slog.IntValue(len(req.Header))
}

// broken classifies a request that brought no answer.
func (c *client) broken(err error, fail func(platforms.Kind, string, error) error) error {
	op, ok := errors.AsType[*net.OpError](err)
	kind := platforms.Uncertain
	switch {
	case c.flaw == "gives up at a refused connection":
		kind = platforms.Rejected
	case ok && op.Op == "dial", c.flaw == "takes a lost reply for an outage":
		kind = platforms.Unavailable
	}
	switch c.flaw {
	case "returns bare errors":
		return err
	case "names no operation":
		return &platforms.Error{Platform: "fake", Kind: kind, Err: err}
	}
	return fail(kind, "", err)
}

// fakeCase is the suite's case for a client with a flaw; dress takes abilities
// away.
func fakeCase(flaw string, dress func(platforms.Platform) platforms.Platform) Case {
	return Case{
		Type:     "fake",
		TooLong:  &article.Article{ID: "long", Title: strings.Repeat("长", maxTitle)},
		Codes:    fakeCodes,
		Unlisted: codeOther,
		Secrets:  []string{token},
		New: func(testing.TB) *World {
			s := &server{posts: map[string]fakePost{}}
			return &World{
				Transport: HandlerTransport(s),
				Open: func(env platforms.Env) (platforms.Platform, error) {
					return dress(&client{flaw: flaw, env: env}), nil
				},
				Posts: func() []string {
					s.mu.Lock()
					defer s.mu.Unlock()
					var texts []string
					for _, p := range s.posts {
						texts = append(texts, p.Title+"\n"+p.Text)
					}
					return texts
				},
				Answer: func(code string) {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.answer = code
				},
				Uploads: func() int {
					s.mu.Lock()
					defer s.mu.Unlock()
					return s.media
				},
			}
		},
	}
}
