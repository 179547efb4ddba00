package wechat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"herald/platforms"
)

const (
	// pageSize is the most entries that a list gives at once.
	pageSize = 20
	// maxPages bounds a look-up: the lists have a day's quota too.
	maxPages = 25
)

// mark is what a post is recognised by: the fields that go unchanged from a draft
// to its publication.
type mark struct {
	Source string `json:"source,omitempty"`
	Title  string `json:"title"`
	Digest string `json:"digest,omitempty"`
	// Since is when it was sent, in seconds since 1970, less a margin for clocks.
	Since int64 `json:"since,omitempty"`
}

func markOf(p platforms.Post, now time.Time) mark {
	return mark{Source: p.CanonicalURL, Title: p.Title, Digest: p.Summary, Since: now.Add(-10 * time.Minute).Unix()}
}

// String is the mark as a receipt keeps it.
func (k mark) String() string {
	text, _ := json.Marshal(k) // it has texts and a number only
	return string(text)
}

func parseMark(text string) (k mark) {
	_ = json.Unmarshal([]byte(text), &k) // a receipt entered by hand has none: it matches nothing
	return k
}

// fits reports whether an entry is this post. The source's address alone is not
// enough: people lead many articles to one page.
func (k mark) fits(e entry) bool {
	return slices.ContainsFunc(e.Content.News, func(n news) bool {
		switch {
		case n.Deleted || k.Title == "" || !same(n.Title, k.Title):
			return false
		case k.Source != "" || n.SourceURL != "":
			return same(n.SourceURL, k.Source)
		default:
			return same(n.Digest, k.Digest)
		}
	})
}

// same compares two texts as they may come back.
func same(a, b string) bool {
	plain := func(s string) string { return strings.Join(strings.Fields(html.UnescapeString(s)), " ") }
	return a == b || plain(a) == plain(b)
}

// search returns the entries of a list that are this post and not older than since.
func (c *Client) search(ctx context.Context, op string, k mark, since time.Time) ([]entry, error) {
	var found []entry
	for page := range maxPages {
		items, total, err := c.list(ctx, op, page*pageSize)
		if err != nil {
			return nil, err
		}
		for _, e := range items {
			if e.Updated >= since.Unix() && k.fits(e) {
				found = append(found, e)
			}
		}
		if len(items) == 0 || page*pageSize+len(items) >= total || isPast(items, since) {
			return found, nil
		}
	}
	return nil, &platforms.Error{
		Platform: platform, Op: op, Kind: platforms.Unavailable,
		Message: fmt.Sprintf("the list has more than %d entries: whether the article is among them is not known", maxPages*pageSize),
	}
}

// isPast reports whether what follows a page is older than since. That the newest
// come first is not promised, so that the page has to show it.
func isPast(items []entry, since time.Time) bool {
	first, last := items[0].Updated, items[len(items)-1].Updated
	return last < since.Unix() && first > last &&
		slices.IsSortedFunc(items, func(a, b entry) int { return cmp.Compare(b.Updated, a.Updated) })
}

// drafts returns the media_ids of the drafts that are this post.
func (c *Client) drafts(ctx context.Context, k mark, since time.Time) ([]string, error) {
	entries, err := c.search(ctx, opListDrafts, k, since)
	var found []string
	for _, e := range entries {
		found = append(found, e.MediaID)
	}
	return found, err
}

// published returns the publications that are this post. An account that may not
// publish has none.
func (c *Client) published(ctx context.Context, k mark, since time.Time) ([]platforms.Receipt, error) {
	entries, err := c.search(ctx, opList, k, since)
	if hasCode(err, codeNoPublish) {
		return nil, nil
	}
	var found []platforms.Receipt
	for _, e := range entries {
		found = append(found, platforms.Receipt{ID: e.ArticleID, URL: e.Content.News[0].URL, Mark: k.String()})
	}
	return found, err
}

// Find looks for the post among drafts and publications, by source and title or by
// title and digest. A draft that the Memo knows and that is gone was handed over to
// a person: it is never made again. The lists' quotas are small, and say nothing
// about posting: a look-up that meets one is Unavailable and holds nothing.
func (c *Client) Find(ctx context.Context, p platforms.Post, since time.Time, m platforms.Memo) (platforms.Found, error) {
	found, err := c.lookUp(ctx, p, since, m)
	if e, ok := errors.AsType[*platforms.Error](err); ok && e.Code == codeDayQuota && e.Op != opToken {
		e.Kind = platforms.Unavailable
	}
	return found, err
}

func (c *Client) lookUp(ctx context.Context, p platforms.Post, since time.Time, m platforms.Memo) (platforms.Found, error) {
	k := markOf(p, since)
	if publishID := noted(m, memoJob); publishID != "" {
		if r, known, err := c.jobReceipt(ctx, publishID, k); known || err != nil {
			return found(r), err
		}
	}
	drafts, err := c.drafts(ctx, k, since)
	if err != nil {
		return platforms.Found{}, err
	}
	own := noted(m, memoDraft)
	if own == "" && len(drafts) > 0 {
		return c.adopt(p, m, drafts, k)
	}
	there := own != "" && slices.Contains(drafts, own)
	if own != "" && !there { // perhaps an editor has changed its title
		if there, err = c.draftExists(ctx, own); err != nil {
			return platforms.Found{}, err
		}
	}
	r, kept := c.keeps(p, m, own, k)
	others := draftReceipts(slices.DeleteFunc(drafts, func(mediaID string) bool { return mediaID == own }), k)
	if there && kept {
		return found(append([]platforms.Receipt{r}, others...)...), nil
	}
	published, err := c.published(ctx, k, since)
	switch {
	case err != nil:
		return platforms.Found{}, err
	case len(published) > 0:
		return found(append(published, others...)...), nil
	case own == "" || !kept:
		return platforms.Found{}, nil // not sent, not submitted, or on its way to readers
	}
	r.Note = noteDraft + ": it has left the draft box, published or deleted by hand"
	return found(append([]platforms.Receipt{r}, others...)...), nil
}

// adopt takes a draft that was found for the one whose answer was lost.
func (c *Client) adopt(p platforms.Post, m platforms.Memo, drafts []string, k mark) (platforms.Found, error) {
	if len(drafts) == 0 {
		return platforms.Found{}, nil
	}
	if err := note(m, memoDraft, drafts[0], platforms.Unavailable); err != nil {
		return platforms.Found{}, err
	}
	if _, kept := c.keeps(p, m, drafts[0], k); !kept {
		return platforms.Found{Outcome: platforms.Partial}, nil
	}
	return found(draftReceipts(drafts, k)...), nil
}

func draftReceipts(drafts []string, k mark) []platforms.Receipt {
	var receipts []platforms.Receipt
	for _, mediaID := range drafts {
		receipts = append(receipts, platforms.Receipt{ID: mediaID, Note: noteDraft, Mark: k.String()})
	}
	return receipts
}

// found is the answer of a look-up that found receipts; the first is the post, the
// others are copies.
func found(receipts ...platforms.Receipt) platforms.Found {
	if len(receipts) == 0 || receipts[0].ID == "" {
		return platforms.Found{}
	}
	return platforms.Found{Outcome: platforms.Present, Receipt: receipts[0], Twins: receipts[1:]}
}

func isDraft(r platforms.Receipt) bool { return strings.HasPrefix(r.Note, noteDraft) }
