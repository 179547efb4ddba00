package wechat

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-resty/resty/v2"

	"herald/internal/httpx"
	"herald/platforms"
)

const (
	// tokenMargin is how long before its end a token is not used any more: the
	// platform has a new one by then.
	tokenMargin = 5 * time.Minute
	// force_refresh is possible so often.
	forcedPerDay = 20
	forcedApart  = 30 * time.Second
)

// account is what all targets of one Official Account share in this process: the
// token, which stays in memory, and the day's polls. The platform hands out the
// same token until it runs out, so that a restart costs one call.
type account struct {
	turn   chan struct{} // holds one: whoever put it there may fetch a token
	token  string
	until  time.Time // zero: until it is refused
	forced []time.Time

	mu    sync.Mutex
	day   string // of polls
	polls int
}

func newAccount() *account { return &account{turn: make(chan struct{}, 1)} }

// accountKey tells accounts apart. Another secret is another account here, lest a
// wrong one goes unnoticed.
type accountKey struct{ appID, secret, base, tokenURL string }

var accounts = struct {
	sync.Mutex
	known map[accountKey]*account
}{known: map[accountKey]*account{}}

// accountOf returns the account of a configuration. On a replaced network it is
// one of its own.
func accountOf(cfg Config, env platforms.Env) *account {
	if env.Transport != nil {
		return newAccount()
	}
	key := accountKey{cfg.AppID, cfg.AppSecret.Reveal(), cfg.BaseURL[0], cfg.TokenURL}
	accounts.Lock()
	defer accounts.Unlock()
	if accounts.known[key] == nil {
		accounts.known[key] = newAccount()
	}
	return accounts.known[key]
}

// mayForce reports whether a new token may be forced, and notes that it is.
func (a *account) mayForce(now time.Time) bool {
	a.forced = slices.DeleteFunc(a.forced, func(at time.Time) bool { return now.Sub(at) >= 24*time.Hour })
	if n := len(a.forced); n >= forcedPerDay || n > 0 && now.Sub(a.forced[n-1]) < forcedApart {
		return false
	}
	a.forced = append(a.forced, now)
	return true
}

// mayPoll reports whether one more poll is within the day's allowance, and counts
// it.
func (a *account) mayPoll(limit int, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if today := now.In(beijing).Format(time.DateOnly); a.day != today {
		a.day, a.polls = today, 0
	}
	a.polls++
	return a.polls <= limit
}

// errSameToken says that there is no other token than the one that was refused.
var errSameToken = errors.New("the token is refused, and no other is handed out")

// token returns the account's token; refused is one that the platform did not take,
// or empty. One caller at a time fetches, and only if nobody has replaced the
// refused one meanwhile.
func (c *Client) token(ctx context.Context, refused string) (string, error) {
	a := c.account
	if ctx.Err() != nil {
		return "", notSent(ctx, opToken)
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return "", notSent(ctx, opToken)
	}
	if a.token != "" && a.token != refused && (a.until.IsZero() || time.Now().Before(a.until)) {
		return a.token, nil
	}
	got, err := c.fetchToken(ctx, false)
	if err != nil {
		return "", err
	}
	if got.Token == refused {
		// The platform itself may be asked for another one; it tells nobody else.
		if c.cfg.TokenURL != "" || !a.mayForce(time.Now()) {
			return "", errSameToken
		}
		if got, err = c.fetchToken(ctx, true); err != nil {
			return "", err
		}
		if got.Token == refused {
			return "", errSameToken
		}
	}
	a.token, a.until = got.Token, time.Time{}
	if got.Expires > 0 {
		a.until = time.Now().Add(time.Duration(got.Expires)*time.Second - tokenMargin)
	}
	return a.token, nil
}

type tokenReply struct {
	Token   string `json:"access_token"`
	Expires int64  `json:"expires_in"` // seconds from now
}

// fetchToken asks for the token, the operator's service if there is one.
func (c *Client) fetchToken(ctx context.Context, force bool) (tokenReply, error) {
	var got tokenReply
	var reply *httpx.Reply
	var err error
	if c.cfg.TokenURL != "" {
		reply, err = c.tokenHTTP.Do(ctx, httpx.Read, opToken, http.MethodGet, c.cfg.TokenURL, func(r *resty.Request) {
			if c.cfg.TokenKey != "" {
				r.SetAuthToken(c.cfg.TokenKey.Reveal())
			}
		})
	} else {
		// Asking twice changes nothing, so that this is a read.
		reply, err = c.http.Do(ctx, httpx.Read, opToken, http.MethodPost, path(opToken), jsonBody(map[string]any{
			"grant_type": "client_credential", "appid": c.cfg.AppID, "secret": c.cfg.AppSecret.Reveal(), "force_refresh": force,
		}))
	}
	if err == nil {
		err = c.read(reply, httpx.Read, opToken, "", &got)
	}
	if err == nil && got.Token == "" {
		err = reply.Fail(platforms.Dependency, "", "answered without a token")
	}
	return got, err
}
