package wechat

import (
	"context"
	"fmt"
	"time"

	"herald/platforms"
)

// The values of publish_status.
const (
	statusPublished = 0
	statusRunning   = 1
	statusOriginal  = 2 // the declaration of originality did not pass
	statusFailed    = 3
	statusRefused   = 4 // by the platform's review
	statusDeleted   = 5 // published, then deleted by the owner
	statusBanned    = 6 // published, then taken down
)

var statusTexts = map[int]string{
	statusOriginal: "the declaration of originality did not pass",
	statusFailed:   "the platform did not publish it and gives no reason; `herald retry` submits it once more",
	statusRefused:  "the platform's review refused it",
	statusDeleted:  "it was published, and then deleted by the owner of the account",
	statusBanned:   "it was published, and then taken down by the platform",
}

// refused reports whether the job is over without having shown the article.
func (j job) refused() bool {
	return j.Status == statusOriginal || j.Status == statusFailed || j.Status == statusRefused
}

// removed reports whether readers have seen the article and do not any more.
func (j job) removed() bool { return j.Status == statusDeleted || j.Status == statusBanned }

// receipt is what has become of a submission.
func (j job) receipt(publishID string, k mark) (platforms.Receipt, error) {
	r := platforms.Receipt{ID: publishID, Pending: true, Mark: k.String()}
	switch {
	case j.Status == statusRunning:
		return r, nil
	case j.Status != statusPublished:
		e := &platforms.Error{
			Platform: platform, Op: opStatus, Kind: platforms.Rejected,
			Code: fmt.Sprintf("publish_status %d", j.Status), Message: statusTexts[j.Status],
		}
		switch {
		case e.Message == "":
			e.Kind, e.Message = platforms.Unknown, "this status is not known"
		case len(j.Failed) > 0:
			e.Message += fmt.Sprintf(" (article %v of the draft)", j.Failed)
		}
		return r, e
	case j.ArticleID == "":
		return r, &platforms.Error{Platform: platform, Op: opStatus, Kind: platforms.Uncertain, Code: platforms.CodeNoID, Message: "published, but no article_id came back"}
	}
	r.ID, r.Pending = j.ArticleID, false
	if len(j.Detail.Items) > 0 {
		r.URL = j.Detail.Items[0].URL
	}
	return r, nil
}

// Review asks how a submission is doing. When the day's polls are used up it waits
// for the next day, without holding the account.
func (c *Client) Review(ctx context.Context, r platforms.Receipt) (platforms.Receipt, error) {
	switch {
	case ctx.Err() != nil:
		return r, notSent(ctx, opStatus)
	case !r.Pending, !c.account.mayPoll(c.cfg.PollsPerDay, time.Now()):
		return r, nil
	}
	j, err := c.jobStatus(ctx, r.ID)
	if hasCode(err, codeDayQuota) {
		c.log.Warn("no polls are left today", "op", opStatus)
		return r, nil
	}
	if err != nil {
		return r, err
	}
	return j.receipt(r.ID, parseMark(r.Mark))
}

// jobReceipt is what a look-up makes of a submission: known is false if the
// platform does not know it. A refusal is left for Review to tell.
func (c *Client) jobReceipt(ctx context.Context, publishID string, k mark) (r platforms.Receipt, known bool, err error) {
	j, err := c.jobStatus(ctx, publishID)
	switch {
	case hasCode(err, codePublishID):
		return platforms.Receipt{}, false, nil
	case err != nil:
		return platforms.Receipt{}, false, err
	case j.removed():
		return platforms.Receipt{}, true, nil
	case j.refused():
		return platforms.Receipt{ID: publishID, Pending: true, Mark: k.String()}, true, nil
	}
	r, err = j.receipt(publishID, k)
	return r, true, err
}
