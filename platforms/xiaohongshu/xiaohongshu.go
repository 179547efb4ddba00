// Package xiaohongshu publishes notes to Xiaohongshu, which has no API for them,
// through the HTTP interface of xpzouying/xiaohongshu-mcp: a browser that is logged
// in. A note needs pictures; an article without any gets text cards.
//
// The interface answers a publication without saying which note came of it. So the
// own notes are read before and after, and the new one with the title is it. It can
// neither change nor delete a note, nor can this package.
package xiaohongshu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"herald/internal/httpx"
	"herald/platforms"
	"herald/platforms/xiaohongshu/card"
)

// platform is the target type.
const platform = "xiaohongshu"

// Advice leaves a browser the time that it needs: a call is longer than the
// interface's own 300 s for a page, the pictures and the look at the notes before
// and after.
var Advice = platforms.Advice{Pace: 30 * time.Second, Timeout: 15 * time.Minute, AbsentAfter: 5 * time.Minute, AbsentTimes: 3}

// Keys of the Memo.
const (
	// beforeKey holds the own notes before the first attempt. It is there whenever
	// something may have been sent.
	beforeKey = "before"
	noteKey   = "note"
)

// slack is how far our clock and the platform's may be apart. Which notes are new
// is known from the snapshot; the time only keeps old ones out that came up since.
const slack = 10 * time.Minute

// The abilities of Xiaohongshu. It has neither Updater nor Withdrawer.
var (
	_ platforms.Platform  = (*Client)(nil)
	_ platforms.Finder    = (*Client)(nil)
	_ platforms.Prober    = (*Client)(nil)
	_ platforms.Accounter = (*Client)(nil)
)

// Client is one account. It is safe for concurrent use, and makes one call at a
// time: the interface would open a second browser on the account.
type Client struct {
	cfg     Config
	http    *httpx.Client
	network http.RoundTripper // nil: the real one
	font    func() (*card.Font, error)
	log     *slog.Logger
	account string
	turn    chan struct{} // held by who is calling
	claims  *claims
}

// New returns the account that cfg describes.
func New(cfg Config, env platforms.Env) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg, err := cfg.withDefaults(env)
	if err != nil {
		return nil, err
	}
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	instance := sha256.Sum256([]byte(strings.Join(cfg.BaseURL, " ")))
	c := &Client{
		cfg: cfg,
		http: httpx.New(httpx.Options{
			Platform: platform, BaseURL: cfg.BaseURL, Secrets: []platforms.Secret{cfg.Token},
			Log: env.Log, Transport: env.Transport,
		}),
		network: env.Transport,
		font:    card.Default,
		log:     env.Log,
		account: hex.EncodeToString(instance[:4]),
		turn:    make(chan struct{}, 1),
		claims:  newClaims(env.Dir),
	}
	if cfg.Font != "" {
		c.font = sync.OnceValues(func() (*card.Font, error) { return card.Read(cfg.Font) })
	}
	return c, nil
}

// Account implements [platforms.Accounter]: targets of one instance share a
// browser.
func (c *Client) Account() string { return c.account }

// take waits until no other call is under way.
func (c *Client) take(ctx context.Context, op string) (release func(), err error) {
	select {
	case c.turn <- struct{}{}:
		return func() { <-c.turn }, nil
	case <-ctx.Done():
		cause := context.Cause(ctx)
		return nil, &platforms.Error{Platform: platform, Op: op, Kind: platforms.Unavailable, Message: "not sent: " + cause.Error(), Err: cause}
	}
}

// Publish makes the note appear. It first looks whether an earlier attempt has left
// one after all, so that none is published a second time.
func (c *Client) Publish(ctx context.Context, p platforms.Post, m platforms.Memo) (platforms.Receipt, error) {
	if n, ok := savedNote(m); ok {
		return n.receipt(), nil
	}
	release, err := c.take(ctx, opPublish)
	if err != nil {
		return platforms.Receipt{}, err
	}
	defer release()
	notes, err := c.notes(ctx)
	if err != nil {
		return platforms.Receipt{}, c.orLoggedOut(ctx, err)
	}
	before, attempted := savedSnapshot(m)
	if attempted {
		if mine := c.mine(notes, p, before, before.At); len(mine) > 0 {
			return c.adopt(ctx, p, m, mine[len(mine)-1])
		}
		if !before.reachedBy(notes) {
			return platforms.Receipt{}, outOfSight(opPublish)
		}
	}
	images, err := c.writePictures(ctx, p)
	if err != nil {
		return platforms.Receipt{}, err
	}
	if !attempted {
		before = snapshotOf(notes, time.Now())
		if err := save(m, beforeKey, before); err != nil {
			return platforms.Receipt{}, &platforms.Error{
				Platform: platform, Op: opPublish, Kind: platforms.Unavailable, Message: "not sent: the notes before could not be stored", Err: err,
			}
		}
	}
	err = c.publish(ctx, publication{
		Title: p.Title, Content: p.Body, Images: images, Tags: p.Tags,
		IsOriginal: p.Options[optionOriginal] != "", Visibility: p.Options[optionVisibility],
	})
	if err != nil {
		switch platforms.KindOf(err) {
		case platforms.Uncertain, platforms.Unknown: // the interface may still be reading them
		default:
			c.removePictures(ctx, p.Key)
		}
		return platforms.Receipt{}, c.orLoggedOut(ctx, err)
	}
	return c.recognise(ctx, p, m, before)
}

// recognise finds the note that a successful publication made. Without one the
// success is not believed, and not repeated either.
func (c *Client) recognise(ctx context.Context, p platforms.Post, m platforms.Memo, before snapshot) (platforms.Receipt, error) {
	unseen := &platforms.Error{
		Platform: platform, Op: opPublish, Kind: platforms.Uncertain, Code: platforms.CodeNoID,
		Message: "reported as published, but the note is not among the account's notes; " + hints[platforms.Uncertain],
	}
	notes, err := c.notes(ctx)
	if err != nil {
		unseen.Message, unseen.Err = "reported as published, but the account's notes cannot be read: "+err.Error(), err
		return platforms.Receipt{}, unseen
	}
	mine := c.mine(notes, p, before, before.At)
	if len(mine) == 0 {
		return platforms.Receipt{}, unseen
	}
	return c.adopt(ctx, p, m, mine[len(mine)-1])
}

// adopt takes a note for the post's.
func (c *Client) adopt(ctx context.Context, p platforms.Post, m platforms.Memo, n note) (platforms.Receipt, error) {
	if err := save(m, noteKey, n); err != nil {
		return n.receipt(), &platforms.Error{Platform: platform, Op: opNotes, Kind: platforms.Uncertain, Message: "note's id not stored", Err: err}
	}
	if err := c.claims.add(n.ID, p.Key); err != nil { // matters only where two articles have one title
		c.log.WarnContext(ctx, "note cannot be claimed", "error", err)
	}
	c.removePictures(ctx, p.Key)
	return n.receipt(), nil
}

// mine returns the notes that may be the post's, newest first: with its title, not
// there before, newer than since, and no other post's.
func (c *Client) mine(notes []note, p platforms.Post, before snapshot, since time.Time) []note {
	return slices.DeleteFunc(before.fresh(notes, p.Title, since), func(n note) bool { return c.claims.isOthers(n.ID, p.Key) })
}

// Find looks for a note with the title that was not there before the first attempt.
// One whose id is known is asked for by that, since the list has one page only.
func (c *Client) Find(ctx context.Context, p platforms.Post, since time.Time, m platforms.Memo) (platforms.Found, error) {
	release, err := c.take(ctx, opNotes)
	if err != nil {
		return platforms.Found{}, err
	}
	defer release()
	notes, err := c.notes(ctx)
	if err != nil {
		return platforms.Found{}, c.orLoggedOut(ctx, err)
	}
	before, _ := savedSnapshot(m)
	mine := c.mine(notes, p, before, since)
	n, known := savedNote(m)
	switch {
	case known:
		there := slices.ContainsFunc(notes, func(o note) bool { return o.ID == n.ID })
		if !there {
			if there, err = c.exists(ctx, n); err != nil || !there {
				return platforms.Found{}, c.orLoggedOut(ctx, err)
			}
		}
	case len(mine) == 0 && !before.reachedBy(notes):
		return platforms.Found{}, outOfSight(opNotes)
	case len(mine) == 0:
		return platforms.Found{}, nil
	default:
		n = mine[len(mine)-1]
		if _, err := c.adopt(ctx, p, m, n); err != nil {
			return platforms.Found{}, err
		}
	}
	found := platforms.Found{Outcome: platforms.Present, Receipt: n.receipt()}
	for _, twin := range mine {
		if twin.ID != n.ID {
			found.Twins = append(found.Twins, twin.receipt())
		}
	}
	return found, nil
}

// Probe asks whether the account is logged in, and warns of a version that is known
// to lie.
func (c *Client) Probe(ctx context.Context) error {
	release, err := c.take(ctx, opLogin)
	if err != nil {
		return err
	}
	defer release()
	version, err := c.version(ctx)
	if err != nil {
		return err
	}
	if isFalse(version) {
		c.log.WarnContext(ctx, "interface is too old", "version", version, "remedy", "update xiaohongshu-mcp: before v2.1.1 it reports successes that are none")
	}
	in, err := c.isLoggedIn(ctx)
	if err == nil && !in {
		err = c.loggedOut()
	}
	return err
}

func (c *Client) loggedOut() error {
	return &platforms.Error{
		Platform: platform, Op: opLogin, Kind: platforms.Unauthorized,
		Message: "the account is not logged in; scan the code of " + c.cfg.BaseURL[0] + "/api/v1/login/qrcode with the app",
	}
}

// orLoggedOut replaces a failure of the browser by its usual reason, a session that
// has ended, if it is that.
func (c *Client) orLoggedOut(ctx context.Context, err error) error {
	if platforms.KindOf(err) != platforms.Dependency || ctx.Err() != nil {
		return err
	}
	if in, askErr := c.isLoggedIn(ctx); askErr == nil && !in {
		return c.loggedOut()
	}
	return err
}

// snapshot is what the account's list held before the first attempt.
type snapshot struct {
	IDs []string  `json:"ids"`
	At  time.Time `json:"at"`
}

func snapshotOf(notes []note, now time.Time) snapshot {
	s := snapshot{IDs: []string{}, At: now}
	for _, n := range notes {
		s.IDs = append(s.IDs, n.ID)
	}
	return s
}

// fresh returns the notes with a title that are newer than since and were not there
// before, newest first. Without a snapshot the time alone tells.
func (s snapshot) fresh(notes []note, title string, since time.Time) []note {
	if !s.At.IsZero() {
		since = since.Add(-slack)
	}
	mine := slices.DeleteFunc(slices.Clone(notes), func(n note) bool {
		old := n.created().Before(since) && (s.At.IsZero() || !n.created().IsZero())
		return old || strings.TrimSpace(n.Card.Title) != title || slices.Contains(s.IDs, n.ID)
	})
	slices.SortStableFunc(mine, func(a, b note) int { return b.created().Compare(a.created()) })
	return mine
}

// reachedBy reports whether a list goes back to the snapshot, or the snapshot to the
// account's first note: only then is a note that it lacks absent. Pinned notes come
// first, whatever their age.
func (s snapshot) reachedBy(notes []note) bool {
	if n := len(notes); n > 0 {
		if last := notes[n-1]; slices.Contains(s.IDs, last.ID) || last.created().Before(s.At.Add(-slack)) && !last.created().IsZero() {
			return true
		}
	}
	return !slices.ContainsFunc(s.IDs, func(id string) bool {
		return !slices.ContainsFunc(notes, func(n note) bool { return n.ID == id })
	})
}

// outOfSight says that the list does not show whether an earlier attempt has left a
// note. Nothing is sent then.
func outOfSight(op string) error {
	return &platforms.Error{
		Platform: platform, Op: op, Kind: platforms.Uncertain, Code: platforms.CodeNoID,
		Message: "the list of notes does not go back to the first attempt; " + hints[platforms.Uncertain],
	}
}

func savedSnapshot(m platforms.Memo) (s snapshot, ok bool) {
	ok = load(m, beforeKey, &s)
	return s, ok
}

func savedNote(m platforms.Memo) (n note, ok bool) {
	ok = load(m, noteKey, &n)
	return n, ok
}

func load(m platforms.Memo, key string, into any) bool {
	saved, ok := m.Get(key)
	return ok && json.Unmarshal([]byte(saved), into) == nil
}

func save(m platforms.Memo, key string, value any) error {
	saved, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return m.Set(key, string(saved))
}
