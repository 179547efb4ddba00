// Package wechat is the target for WeChat Official Accounts (公众号). It uploads an
// article's pictures, puts the article into the draft box, and, where the account
// may and the operator wants it, submits it for publication.
//
// It keeps the access token in memory only, sends nothing to followers (mass
// sending is another API), and cannot change an article that readers see already:
// the platform has no call for that.
package wechat

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"herald/article/dialect"
	"herald/internal/httpx"
	"herald/platforms"
)

// platform is the target type.
const platform = "wechat"

// Advice says that uploads take their time, and that lists may not be current at
// once.
var Advice = platforms.Advice{Timeout: 5 * time.Minute, AbsentAfter: 2 * time.Minute, AbsentTimes: 2}

// Keys of the Memo. Those of pictures are made by newUpload.
const (
	memoDraft = "wechat/draft"   // media_id of the draft
	memoJob   = "wechat/publish" // publish_id of the latest submission
	memoKept  = "wechat/kept"    // why the draft is not submitted, a code
)

// noteDraft begins the note of a receipt whose ID is a draft's.
const noteDraft = "draft"

const (
	// settleTime is how long a new media_id may take to be known to drafts, and
	// settleTries how often that is waited for.
	settleTime  = 2500 * time.Millisecond
	settleTries = 3
)

// Client is one account. It is safe for concurrent use.
type Client struct {
	cfg       Config
	account   *account
	http      *httpx.Client
	tokenHTTP *httpx.Client     // for the operator's own service
	transport http.RoundTripper // in tests
	log       *slog.Logger
	dir       string
	jitter    time.Duration

	looks sync.Mutex
	look  *dialect.Theme
}

// The abilities of an account.
var (
	_ platforms.Platform   = (*Client)(nil)
	_ platforms.Finder     = (*Client)(nil)
	_ platforms.Reviewer   = (*Client)(nil)
	_ platforms.Updater    = (*Client)(nil)
	_ platforms.Withdrawer = (*Client)(nil)
	_ platforms.Prober     = (*Client)(nil)
	_ platforms.Accounter  = (*Client)(nil)
)

// New returns the account that cfg describes. It makes no call and touches no file.
func New(cfg Config, env platforms.Env) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults(env.Base)
	o := httpx.Options{
		Platform: platform, Secrets: []platforms.Secret{cfg.AppSecret, cfg.TokenKey}, Log: env.Log, Transport: env.Transport,
	}
	tokenHTTP := httpx.New(o)
	o.BaseURL = cfg.BaseURL
	return &Client{
		cfg: cfg, account: accountOf(cfg, env), http: httpx.New(o), tokenHTTP: tokenHTTP,
		transport: env.Transport, log: env.Log, dir: env.Dir, jitter: jitterOf(cfg.AppID),
	}, nil
}

// Account names the Official Account: its targets share pace and holds.
func (c *Client) Account() string { return c.cfg.AppID }

// Publish makes the draft and, in mode publish, submits it. An account that may not
// publish keeps the draft: the receipt says so.
func (c *Client) Publish(ctx context.Context, p platforms.Post, m platforms.Memo) (platforms.Receipt, error) {
	mark := markOf(p, time.Now())
	mediaID, err := c.draft(ctx, p, m)
	if err != nil {
		return platforms.Receipt{}, err
	}
	if r, kept := c.keeps(p, m, mediaID, mark); kept {
		return r, nil
	}
	if publishID := noted(m, memoJob); publishID != "" {
		j, err := c.jobStatus(ctx, publishID)
		switch {
		case hasCode(err, codePublishID): // forgotten: what has become of the draft tells
		case err != nil:
			return platforms.Receipt{}, err
		case !j.refused():
			return j.receipt(publishID, mark)
		}
	}
	return c.submit(ctx, p, m, mediaID, mark)
}

// draft returns the media_id of the post's draft, which it makes if the Memo knows
// none.
func (c *Client) draft(ctx context.Context, p platforms.Post, m platforms.Memo) (string, error) {
	if mediaID := noted(m, memoDraft); mediaID != "" {
		return mediaID, nil
	}
	var mediaID string
	err := c.deliver(ctx, opAddDraft, p, m, func(a news) (err error) {
		mediaID, err = c.addDraft(ctx, a)
		return err
	})
	if err != nil {
		return "", err
	}
	if mediaID == "" {
		return "", &platforms.Error{Platform: platform, Op: opAddDraft, Kind: platforms.Uncertain, Code: platforms.CodeNoID, Message: "accepted, but no media_id came back"}
	}
	return mediaID, note(m, memoDraft, mediaID, platforms.Uncertain)
}

// deliver uploads the post's pictures and gives the article to send. It repeats
// what the platform is known to refuse for a reason that goes away: pictures that
// it does not know yet, comments that the account does not have.
func (c *Client) deliver(ctx context.Context, op string, p platforms.Post, m platforms.Memo, send func(news) error) error {
	if _, err := c.token(ctx, ""); err != nil { // once, and not by each picture
		return err
	}
	all := c.uploads(p)
	results, err := c.uploadAll(ctx, all, m)
	if err != nil {
		return err
	}
	a := c.news(p, results)
	for try := 1; ; try++ {
		err = send(a)
		switch {
		case a.NeedOpenComment == 1 && hasCode(err, codeNoComments, codeCommentsNo):
			c.log.Warn("the account has no comments: sent without", "article", p.Slug)
			a.NeedOpenComment, a.OnlyFansCanComment = 0, 0
		case op == opAddDraft && hasCode(err, codeMediaID) && try <= settleTries:
			if err := rest(ctx, settleTime); err != nil {
				return err
			}
		case hasCode(err, codeMediaID):
			if err := c.forget(all, m); err != nil {
				return err
			}
			return err
		case hasCode(err, codeContent):
			return c.keepRefused(p, a, err)
		default:
			return err
		}
	}
}

// rest waits, unless the context ends before.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return notSent(ctx, opAddDraft)
	}
}

// forget makes the Memo forget permanent pictures that the platform says it does
// not have: a person may have deleted them. The next attempt uploads them again.
func (c *Client) forget(all []*upload, m platforms.Memo) error {
	for _, u := range all {
		if u.material {
			if err := note(m, u.key, "", platforms.Unavailable); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepRefused keeps a body that the platform refuses without saying why.
func (c *Client) keepRefused(p platforms.Post, a news, err error) error {
	file := filepath.Join(c.dir, "refused", p.Slug+".html")
	if keepErr := keep(file, []byte(a.Content)); keepErr != nil {
		c.log.Warn("refused article is not kept", "error", keepErr)
		return err
	}
	if e, ok := errors.AsType[*platforms.Error](err); ok {
		e.Message += "; it is kept in " + file
	}
	return err
}

// news is the post as the platform takes it.
func (c *Client) news(p platforms.Post, results map[string]string) news {
	a := news{
		Type: p.Options[optType], Title: p.Title, Author: p.Author, Digest: p.Summary, SourceURL: p.CanonicalURL, Content: p.Body,
	}
	a.NeedOpenComment, _ = strconv.Atoi(p.Options[optComments]) // "0" or "1"
	a.OnlyFansCanComment, _ = strconv.Atoi(p.Options[optFans])
	if a.Type == typeImages {
		a.Images = &imageSet{}
		for _, im := range p.Images {
			a.Images.List = append(a.Images.List, imageID{results[c.newUpload(im, true).key]})
		}
		return a
	}
	addresses := map[string]string{}
	for _, im := range p.Images {
		addresses[placeholder(im)] = results[c.newUpload(im, false).key]
	}
	a.Content = withAddresses(p.Body, addresses)
	a.ThumbMediaID = results[c.newUpload(*p.Cover, true).key]
	return a
}

// keeps returns the receipt of a draft that is not to be submitted.
func (c *Client) keeps(p platforms.Post, m platforms.Memo, mediaID string, k mark) (platforms.Receipt, bool) {
	r := platforms.Receipt{ID: mediaID, Note: noteDraft, Mark: k.String()}
	code := noted(m, memoKept)
	if code != "" {
		r.Note = noteDraft + ": this account may not publish by API (" + code + "); publish it by hand"
	}
	return r, code != "" || p.Options[optMode] != modePublish
}

// submit hands the draft to the platform for publication.
func (c *Client) submit(ctx context.Context, p platforms.Post, m platforms.Memo, mediaID string, k mark) (platforms.Receipt, error) {
	publishID, err := c.submitDraft(ctx, mediaID)
	if e, ok := errors.AsType[*platforms.Error](err); ok && hasCode(err, codeNoPublish, codeBanned) {
		if err := note(m, memoKept, e.Code, platforms.Unavailable); err != nil {
			return platforms.Receipt{}, err
		}
		r, _ := c.keeps(p, m, mediaID, k)
		return r, nil
	}
	if err != nil {
		return platforms.Receipt{}, err
	}
	if publishID == "" {
		return platforms.Receipt{}, &platforms.Error{Platform: platform, Op: opSubmit, Kind: platforms.Uncertain, Code: platforms.CodeNoID, Message: "accepted, but no publish_id came back"}
	}
	return platforms.Receipt{ID: publishID, Pending: true, Mark: k.String()}, note(m, memoJob, publishID, platforms.Uncertain)
}

// Update replaces the draft's article. What readers see already cannot be changed.
func (c *Client) Update(ctx context.Context, p platforms.Post, r platforms.Receipt, m platforms.Memo) (platforms.Receipt, error) {
	if !isDraft(r) {
		return r, unchangeable("WeChat cannot change a published article; `herald republish` publishes it anew")
	}
	err := c.deliver(ctx, opUpdateDraft, p, m, func(a news) error { return c.updateDraft(ctx, r.ID, a) })
	if hasCode(err, codeMediaID) { // the draft, or the cover
		there, lookErr := c.draftExists(ctx, r.ID)
		if lookErr != nil {
			return r, lookErr
		}
		if !there {
			return r, unchangeable("the draft has left the draft box, published or deleted by hand; `herald republish` makes a new one")
		}
	}
	if err != nil {
		return r, err
	}
	r.Mark = markOf(p, time.Now()).String()
	return r, nil
}

func unchangeable(why string) error {
	return &platforms.Error{Platform: platform, Op: opUpdateDraft, Kind: platforms.Rejected, Message: why}
}

// Withdraw deletes the draft, or the article from its readers. A draft that is gone
// may have been published by hand: that is for a person to take back.
func (c *Client) Withdraw(ctx context.Context, r platforms.Receipt) error {
	switch {
	case r.Mark == "":
		return cannotDelete("the address was entered by hand, and WeChat does not tell the article's id: delete it in the console")
	case !isDraft(r):
		return c.deleteArticle(ctx, r.ID)
	}
	there, err := c.draftExists(ctx, r.ID)
	if err != nil {
		return err
	}
	if there {
		return c.deleteDraft(ctx, r.ID)
	}
	k := parseMark(r.Mark)
	found, err := c.published(ctx, k, time.Unix(k.Since, 0))
	if err != nil || len(found) == 0 {
		return err
	}
	return cannotDelete("the draft is gone, and the article was published by hand: " + found[0].URL + "; delete it in the console")
}

func cannotDelete(why string) error {
	return &platforms.Error{Platform: platform, Op: opDeleteDraft, Kind: platforms.Rejected, Message: why}
}

// Probe asks for the token and counts the drafts.
func (c *Client) Probe(ctx context.Context) error { return c.countDrafts(ctx) }

// noted returns what the Memo holds under key, empty if nothing.
func noted(m platforms.Memo, key string) string {
	value, _ := m.Get(key)
	return value
}

// note stores value; kind says what it means if that does not work.
func note(m platforms.Memo, key, value string, kind platforms.Kind) error {
	if err := m.Set(key, value); err != nil {
		return &platforms.Error{Platform: platform, Op: "memo", Kind: kind, Message: "store " + key + ": " + err.Error(), Err: err}
	}
	return nil
}
