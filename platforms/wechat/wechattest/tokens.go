package wechattest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

const (
	// overlap is how long before its end a token gets a successor; until then both
	// are good.
	overlap = 5 * time.Minute
	// force_refresh is possible so often.
	forcedPerDay = 20
	forcedApart  = 30 * time.Second
)

// token is an access_token. The two families, token and stable_token, leave each
// other alone.
type token struct {
	value    string
	expires  time.Time
	replaced bool // by force
}

// newToken makes a token. Its text follows from its number, so that a test can
// know it beforehand.
func (s *Server) newToken(now time.Time) *token {
	t := &token{value: TokenText(len(s.tokens) + 1), expires: now.Add(s.options.TokenLife)}
	s.tokens[t.value] = t
	return t
}

// TokenText is the n-th token that a platform gives out, counted from 1.
func TokenText(n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "token %d", n))
	return fmt.Sprintf("%d_%s%s", n, hex.EncodeToString(sum[:]), hex.EncodeToString(sum[:]))
}

// Supersede is another process that takes a new token by force: the one before is
// not good any more.
func (s *Server) Supersede() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replace(s.options.Now())
}

// ExpireTokens ends all tokens, as time would.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		t.expires = s.options.Now()
	}
}

// Tokens returns how many tokens were given out.
func (s *Server) Tokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tokens)
}

func (s *Server) replace(now time.Time) {
	if s.stable != nil {
		s.stable.replaced = true
	}
	s.stable = s.newToken(now)
}

func (s *Server) checkToken(value string, now time.Time) error {
	t, known := s.tokens[value]
	switch {
	case value == "":
		return fail(codeMissingToken)
	case len(value) < 16:
		return fail(codeMalformedToken)
	case !known || t.replaced:
		return fail(codeInvalidToken)
	case !now.Before(t.expires):
		return fail(codeExpiredToken)
	}
	return nil
}

type tokenReply struct {
	Token   string `json:"access_token"`
	Expires int    `json:"expires_in"` // seconds
}

func (t *token) reply(now time.Time) tokenReply {
	return tokenReply{t.value, int(t.expires.Sub(now) / time.Second)}
}

// checkApp checks the credential by which a token is asked for.
func (s *Server) checkApp(grant, id, secret string) error {
	switch {
	case s.options.RefusedIP != "":
		return failure{codeIP, fmt.Sprintf("invalid ip %s ipv6 ::ffff:%[1]s, not in whitelist", s.options.RefusedIP)}
	case grant != "client_credential":
		return fail(codeGrantType)
	case id == "":
		return fail(codeMissingAppID)
	case secret == "":
		return fail(codeMissingSecret)
	case id != s.options.AppID:
		return fail(codeAppID)
	case secret != s.options.Secret:
		return fail(codeSecret)
	}
	return nil
}

// plainToken makes a new token at every call; the one before lives on for a while.
func (s *Server) plainToken(c *call) (any, error) {
	q := c.URL.Query()
	if err := s.checkApp(q.Get("grant_type"), q.Get("appid"), q.Get("secret")); err != nil {
		return nil, err
	}
	if end := c.now.Add(overlap); s.plain != nil && s.plain.expires.After(end) {
		s.plain.expires = end
	}
	s.plain = s.newToken(c.now)
	return s.plain.reply(c.now), nil
}

// stableToken gives out the same token until shortly before its end.
func (s *Server) stableToken(c *call) (any, error) {
	var in struct {
		Grant  string `json:"grant_type"`
		AppID  string `json:"appid"`
		Secret string `json:"secret"`
		Force  bool   `json:"force_refresh"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := s.checkApp(in.Grant, in.AppID, in.Secret); err != nil {
		return nil, err
	}
	if in.Force {
		if err := s.force(c.now); err != nil {
			return nil, err
		}
	}
	if s.stable == nil || s.stable.replaced || !c.now.Before(s.stable.expires.Add(-overlap)) {
		s.stable = s.newToken(c.now)
	}
	return s.stable.reply(c.now), nil
}

// force replaces the token, unless it was done a moment ago.
func (s *Server) force(now time.Time) error {
	today := 0
	for _, at := range s.forced {
		if now.Sub(at) < forcedApart {
			return nil
		}
		if day(at) == day(now) {
			today++
		}
	}
	if today >= forcedPerDay {
		return fail(codeDayQuota)
	}
	s.forced = append(s.forced, now)
	s.replace(now)
	return nil
}
