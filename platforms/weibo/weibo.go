// Package weibo publishes to Sina Weibo through its open platform: a short text
// with a link on the app's approved domain, and one picture. That is all that
// statuses/share takes: there is no long text, and no way for an ordinary app to
// change or delete a post. It looks a post up by its text, among the five newest
// ones that the platform lets an app read.
//
// It refreshes no token, because the platform has no refresh for it: a person
// authorises the app again, and is told seven days ahead.
package weibo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"herald/internal/httpx"
	"herald/platforms"
)

// platform is the target type.
const platform = "weibo"

// Advice keeps to what Weibo does not take for a robot. A post may be in no list
// for two minutes.
var Advice = platforms.Advice{Pace: time.Minute, Timeout: time.Minute, AbsentAfter: absentAfter, AbsentTimes: 2}

const (
	absentAfter = 3 * time.Minute
	// expiryNotice is how long before the end of the token a person is told.
	expiryNotice = 7 * 24 * time.Hour
	// receiptKey is where the Memo keeps the receipt of the post.
	receiptKey = "receipt"
)

// The abilities of Weibo. It has neither Updater nor Withdrawer.
var (
	_ platforms.Platform  = (*Client)(nil)
	_ platforms.Finder    = (*Client)(nil)
	_ platforms.Prober    = (*Client)(nil)
	_ platforms.Accounter = (*Client)(nil)
)

// Client is one account of one app. It is safe for concurrent use, and makes one
// post at a time.
type Client struct {
	cfg     Config
	http    *httpx.Client
	network http.RoundTripper // nil: the real one
	log     *slog.Logger
	account string
	turn    chan struct{} // held by who is posting
	open    *openPost

	mu      sync.Mutex
	checked time.Time // when the token was last asked for
}

// New returns the account that cfg describes.
func New(cfg Config, env platforms.Env) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	credential := sha256.Sum256([]byte(cfg.AccessToken.Reveal()))
	return &Client{
		cfg: cfg,
		http: httpx.New(httpx.Options{
			Platform: platform, BaseURL: cfg.BaseURL, Secrets: []platforms.Secret{cfg.AccessToken},
			Log: env.Log, Transport: env.Transport,
		}),
		network: env.Transport,
		log:     env.Log,
		account: hex.EncodeToString(credential[:4]),
		turn:    make(chan struct{}, 1),
		open:    newOpenPost(env.Dir),
	}, nil
}

// Account implements [platforms.Accounter].
func (c *Client) Account() string { return c.account }

// Publish shares the post. While the outcome of another post is open it is put
// off, because that one could disappear behind newer ones.
func (c *Client) Publish(ctx context.Context, p platforms.Post, m platforms.Memo) (platforms.Receipt, error) {
	if r, ok := savedReceipt(m); ok {
		return r, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return platforms.Receipt{}, notSent(context.Cause(ctx))
	}
	now := time.Now()
	if until := c.open.blocks(p.Key, now); !until.IsZero() {
		return platforms.Receipt{}, &platforms.Error{
			Platform: platform, Op: opShare, Kind: platforms.RateLimited, RetryAt: until,
			Message: "the outcome of another post is still open, and only the five newest can be looked up",
		}
	}
	picture, err := c.picture(ctx, p)
	if err != nil {
		return platforms.Receipt{}, err
	}
	if err := c.open.begin(p.Key, now); err != nil {
		return platforms.Receipt{}, notSent(err)
	}
	s, err := c.share(ctx, p.Body, picture)
	if err != nil {
		if isSettled(err) {
			c.settle(ctx, p.Key)
		}
		return platforms.Receipt{}, err
	}
	r := s.receipt()
	if err := saveReceipt(m, r); err != nil { // the post is there: only a look-up may go on from here
		return r, &platforms.Error{Platform: platform, Op: opShare, Kind: platforms.Uncertain, Message: "receipt not stored", Err: err}
	}
	c.settle(ctx, p.Key)
	c.watchToken(ctx, now)
	return r, nil
}

// isSettled reports whether a failure tells for certain that there is no post.
func isSettled(err error) bool {
	switch platforms.KindOf(err) {
	case platforms.Uncertain, platforms.Unknown, platforms.Exists:
		return false
	}
	return true
}

func notSent(err error) error {
	return &platforms.Error{Platform: platform, Op: opShare, Kind: platforms.Unavailable, Message: "not sent: " + err.Error(), Err: err}
}

// settle lets other posts through again.
func (c *Client) settle(ctx context.Context, key string) {
	if err := c.open.settle(key); err != nil { // it lets them through by itself after a while
		c.log.WarnContext(ctx, "the end of a post's doubt cannot be written down", "error", err)
	}
}

// Find looks for the post by its text. One whose id is known is asked for by that,
// since it soon is no longer among the newest.
func (c *Client) Find(ctx context.Context, p platforms.Post, since time.Time, m platforms.Memo) (platforms.Found, error) {
	list, ahead, err := c.timeline(ctx)
	if err != nil {
		return platforms.Found{}, err
	}
	var found []platforms.Receipt
	for _, s := range list {
		if s.created().Before(since.Add(ahead)) || !sameText(p.Body, s.Text) {
			continue
		}
		found = append(found, s.receipt())
	}
	if r, ok := savedReceipt(m); ok {
		return c.findKnown(ctx, r, found)
	}
	if len(found) == 0 {
		if c.open.isOlder(p.Key, time.Now().Add(-absentAfter)) {
			c.settle(ctx, p.Key)
		}
		return platforms.Found{}, nil
	}
	first := found[len(found)-1]
	if err := saveReceipt(m, first); err != nil {
		return platforms.Found{}, &platforms.Error{Platform: platform, Op: opTimeline, Kind: platforms.Unavailable, Message: "receipt not stored", Err: err}
	}
	c.settle(ctx, p.Key)
	return platforms.Found{Outcome: platforms.Present, Receipt: first, Twins: found[:len(found)-1]}, nil
}

// findKnown tells whether the post of a receipt is still there; others with its
// text are its twins.
func (c *Client) findKnown(ctx context.Context, r platforms.Receipt, same []platforms.Receipt) (platforms.Found, error) {
	var twins []platforms.Receipt
	there := false
	for _, other := range same {
		if other.ID == r.ID {
			there = true
		} else {
			twins = append(twins, other)
		}
	}
	if !there {
		var err error
		if there, err = c.exists(ctx, r.ID); err != nil || !there {
			return platforms.Found{}, err
		}
	}
	return platforms.Found{Outcome: platforms.Present, Receipt: r, Twins: twins}, nil
}

// Probe asks for the token, and logs when it will soon expire.
func (c *Client) Probe(ctx context.Context) error {
	left, err := c.tokenInfo(ctx)
	if err != nil {
		return err
	}
	return c.checkToken(ctx, left)
}

func (c *Client) checkToken(ctx context.Context, left time.Duration) error {
	switch {
	case left <= 0:
		return &platforms.Error{
			Platform: platform, Op: opTokenInfo, Kind: platforms.Unauthorized, Code: codeExpired,
			Message: "the access token has expired; " + authoriseAgain,
		}
	case left < expiryNotice:
		c.log.WarnContext(ctx, "access token expires soon", "days", int(left/(24*time.Hour)), "remedy", authoriseAgain)
	}
	return nil
}

// watchToken looks once a day whether the token will soon expire. It comes after
// the post, which it must not endanger: what goes wrong here is told by the next
// post.
func (c *Client) watchToken(ctx context.Context, now time.Time) {
	c.mu.Lock()
	due := now.Sub(c.checked) >= 24*time.Hour
	if due {
		c.checked = now
	}
	c.mu.Unlock()
	if !due {
		return
	}
	left, err := c.tokenInfo(ctx)
	if err == nil {
		err = c.checkToken(ctx, left)
	}
	if err != nil {
		c.log.DebugContext(ctx, "age of the token is not known", "error", err)
	}
}
