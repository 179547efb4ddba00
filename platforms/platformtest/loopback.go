package platformtest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-resty/resty/v2"

	"herald/article"
	"herald/internal/httpx"
	"herald/platforms"
)

const (
	loopbackType     = "loopback"
	loopbackMaxTitle = 100 // characters
	// receiptKey is where the Memo keeps the receipt of the post.
	receiptKey = "receipt"
	// mediaScheme stands in a rendered body for an image that is uploaded only
	// when the post is published.
	mediaScheme = "media:"
)

// LoopbackCodes is what the codes of a [LoopbackServer] mean.
var LoopbackCodes = platforms.Codes{
	"maintenance":  platforms.Unavailable,
	"locked":       platforms.Unavailable,
	"quota":        platforms.RateLimited,
	"too_fast":     platforms.RateLimited,
	"storage_down": platforms.Dependency,
	"unauthorized": platforms.Unauthorized,
	"plan":         platforms.Unauthorized,
	"content":      platforms.Rejected,
	"not_found":    platforms.Rejected,
	"malformed":    platforms.Invalid,
	"duplicate":    platforms.Exists,
	"timeout":      platforms.Uncertain,
}

var (
	_ platforms.Platform   = (*Loopback)(nil)
	_ platforms.Finder     = (*Loopback)(nil)
	_ platforms.Reviewer   = (*Loopback)(nil)
	_ platforms.Updater    = (*Loopback)(nil)
	_ platforms.Withdrawer = (*Loopback)(nil)
	_ platforms.Prober     = (*Loopback)(nil)
	_ platforms.Accounter  = (*Loopback)(nil)
)

// LoopbackConfig is what a Loopback is made of.
type LoopbackConfig struct {
	BaseURL string // of a [LoopbackServer]
	Token   platforms.Secret
	// Transport replaces the one of the environment.
	Transport http.RoundTripper
}

// Loopback is the smallest honest HTTP adapter: it has every ability, and keeps
// every promise of the suite, on a platform that does nothing against
// duplicates. Tests and benchmarks of the driver use it.
type Loopback struct {
	http    *httpx.Client
	token   platforms.Secret
	account string
}

// NewLoopback returns the adapter.
func NewLoopback(c LoopbackConfig, env platforms.Env) (*Loopback, error) {
	if c.BaseURL == "" {
		return nil, errors.New("base_url is missing")
	}
	if c.Transport == nil {
		c.Transport = env.Transport
	}
	credential := sha256.Sum256([]byte(c.Token.Reveal()))
	return &Loopback{
		http: httpx.New(httpx.Options{
			Platform: loopbackType, BaseURL: []string{c.BaseURL},
			Secrets: []platforms.Secret{c.Token}, Log: env.Log, Transport: c.Transport,
		}),
		token:   c.Token,
		account: loopbackType + "/" + hex.EncodeToString(credential[:4]),
	}, nil
}

// Account implements [platforms.Accounter].
func (l *Loopback) Account() string { return l.account }

// Render implements [platforms.Platform].
func (l *Loopback) Render(a *article.Article) (platforms.Post, error) {
	if n := utf8.RuneCountInString(a.Title); n > loopbackMaxTitle {
		return platforms.Post{}, platforms.Rejectf(loopbackType, "render", "the title has %d characters, %d are allowed", n, loopbackMaxTitle)
	}
	return platforms.Post{
		Slug: a.ID, Title: a.Title, Author: a.Author, Summary: a.Summary,
		Tags: slices.Clone(a.Tags), CanonicalURL: a.CanonicalURL, Date: a.Date,
		ContentType: "text/markdown",
		Body: a.Markdown(func(im article.Image) string {
			if im.Path == "" {
				return im.URL
			}
			return mediaScheme + im.SHA256
		}),
		Images: slices.Clone(a.Images),
	}, nil
}

// Publish implements [platforms.Platform].
func (l *Loopback) Publish(ctx context.Context, p platforms.Post, m platforms.Memo) (platforms.Receipt, error) {
	if saved, ok := m.Get(receiptKey); ok {
		var r platforms.Receipt
		if json.Unmarshal([]byte(saved), &r) == nil && r.ID != "" {
			return r, nil
		}
	}
	body, err := l.upload(ctx, p, m)
	if err != nil {
		return platforms.Receipt{}, err
	}
	var post loopbackReply
	if err := l.call(ctx, httpx.Write, "publish", http.MethodPost, "/posts", body, &post); err != nil {
		return platforms.Receipt{}, err
	}
	r := post.receipt()
	if r.ID == "" {
		return r, &platforms.Error{Platform: loopbackType, Op: "publish", Kind: platforms.Uncertain, Code: platforms.CodeNoID, Message: "accepted without an id"}
	}
	saved, err := json.Marshal(r)
	if err == nil {
		err = m.Set(receiptKey, string(saved))
	}
	if err != nil { // the post is there: only a look-up may go on from here
		return r, &platforms.Error{Platform: loopbackType, Op: "publish", Kind: platforms.Uncertain, Message: "receipt not stored", Err: err}
	}
	return r, nil
}

// Find implements [platforms.Finder]. The look-up by key is exact.
func (l *Loopback) Find(ctx context.Context, p platforms.Post, since time.Time, _ platforms.Memo) (platforms.Found, error) {
	var list struct {
		Posts []loopbackReply `json:"posts"`
	}
	query := "?key=" + url.QueryEscape(p.Key)
	if err := l.call(ctx, httpx.Read, "find", http.MethodGet, "/posts"+query, nil, &list); err != nil {
		return platforms.Found{}, err
	}
	for _, post := range list.Posts {
		if !post.CreatedAt.Before(since) {
			return platforms.Found{Outcome: platforms.Present, Receipt: post.receipt()}, nil
		}
	}
	return platforms.Found{}, nil
}

// Review implements [platforms.Reviewer].
func (l *Loopback) Review(ctx context.Context, r platforms.Receipt) (platforms.Receipt, error) {
	var post loopbackReply
	if err := l.call(ctx, httpx.Read, "review", http.MethodGet, "/posts/"+url.PathEscape(r.ID), nil, &post); err != nil {
		return r, err
	}
	return post.receipt(), nil
}

// Update implements [platforms.Updater].
func (l *Loopback) Update(ctx context.Context, p platforms.Post, r platforms.Receipt, m platforms.Memo) (platforms.Receipt, error) {
	body, err := l.upload(ctx, p, m)
	if err != nil {
		return r, err
	}
	var post loopbackReply
	if err := l.call(ctx, httpx.Idempotent, "update", http.MethodPut, "/posts/"+url.PathEscape(r.ID), body, &post); err != nil {
		return r, err
	}
	return post.receipt(), nil
}

// Withdraw implements [platforms.Withdrawer].
func (l *Loopback) Withdraw(ctx context.Context, r platforms.Receipt) error {
	reply, err := l.do(ctx, httpx.Idempotent, "withdraw", http.MethodDelete, "/posts/"+url.PathEscape(r.ID), nil)
	if err != nil {
		return err
	}
	if reply.Status == http.StatusNotFound {
		return nil
	}
	return loopbackFailure(reply)
}

// Probe implements [platforms.Prober].
func (l *Loopback) Probe(ctx context.Context) error {
	var me struct{ ID string }
	return l.call(ctx, httpx.Read, "probe", http.MethodGet, "/me", nil, &me)
}

// upload sends the images that the Memo does not know and returns the post as
// the API takes it, with their addresses. The platform recognises a picture by
// its content, so that a lost answer needs no look-up.
func (l *Loopback) upload(ctx context.Context, p platforms.Post, m platforms.Memo) (loopbackBody, error) {
	body := loopbackBody{Key: p.Key, Revision: p.Revision, Slug: p.Slug, Title: p.Title, Body: p.Body}
	for _, im := range p.Images {
		if im.Path == "" {
			continue
		}
		address, ok := m.Get(platforms.MediaKey + im.SHA256)
		if !ok {
			var err error
			if address, err = l.uploadOne(ctx, im); err != nil {
				return body, err
			}
			if err := m.Set(platforms.MediaKey+im.SHA256, address); err != nil {
				return body, &platforms.Error{Platform: loopbackType, Op: "media", Kind: platforms.Unavailable, Message: "media id not stored", Err: err}
			}
		}
		body.Body = strings.ReplaceAll(body.Body, mediaScheme+im.SHA256, address)
	}
	return body, nil
}

func (l *Loopback) uploadOne(ctx context.Context, im article.Image) (string, error) {
	data, err := os.ReadFile(im.Path)
	if err != nil {
		return "", &platforms.Error{Platform: loopbackType, Op: "media", Kind: platforms.Rejected, Message: fmt.Sprintf("image %q cannot be read", im.Ref), Err: err}
	}
	var media struct{ URL string }
	if err := l.call(ctx, httpx.Idempotent, "media", http.MethodPost, "/media", data, &media); err != nil {
		return "", err
	}
	return media.URL, nil
}

// call makes one call and decodes its success into out.
func (l *Loopback) call(ctx context.Context, call httpx.Call, op, method, path string, body, out any) error {
	reply, err := l.do(ctx, call, op, method, path, body)
	if err != nil {
		return err
	}
	if err := loopbackFailure(reply); err != nil {
		return err
	}
	return reply.JSON(out)
}

func (l *Loopback) do(ctx context.Context, call httpx.Call, op, method, path string, body any) (*httpx.Reply, error) {
	return l.http.Do(ctx, call, op, method, path, func(r *resty.Request) {
		r.SetAuthToken(l.token.Reveal())
		if body != nil {
			r.SetBody(body)
		}
	})
}

// loopbackFailure is what a reply complains of: by the platform's code if there
// is one, else by its status.
func loopbackFailure(r *httpx.Reply) error {
	var complaint struct{ Code, Message string }
	if r.Status >= 400 && r.Status < 500 && json.Unmarshal(r.Body, &complaint) == nil && complaint.Code != "" {
		return r.Fail(LoopbackCodes.Kind(complaint.Code), complaint.Code, cmp.Or(complaint.Message, complaint.Code))
	}
	return r.Err()
}

// loopbackBody is a post as the API takes it, loopbackReply as it answers.
type loopbackBody struct {
	Key      string `json:"key"`
	Revision int    `json:"revision"`
	Slug     string `json:"slug"`
	Title    string `json:"title"`
	Body     string `json:"body"`
}

type loopbackReply struct {
	ID        string    `json:"id"`
	URL       string    `json:"url"`
	State     string    `json:"state"`
	CreatedAt time.Time `json:"created_at"`
}

func (p loopbackReply) receipt() platforms.Receipt {
	return platforms.Receipt{ID: p.ID, URL: p.URL, Pending: p.State == stateReview}
}
