package wechat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-resty/resty/v2"

	"herald/internal/httpx"
	"herald/platforms"
)

// The endpoints, each a path below /cgi-bin/.
const (
	opToken       = "stable_token"
	opQuota       = "openapi/quota/get"
	opUpload      = "media/uploadimg"
	opMaterial    = "material/add_material"
	opAddDraft    = "draft/add"
	opUpdateDraft = "draft/update"
	opGetDraft    = "draft/get"
	opListDrafts  = "draft/batchget"
	opCountDrafts = "draft/count"
	opDeleteDraft = "draft/delete"
	opSubmit      = "freepublish/submit"
	opStatus      = "freepublish/get"
	opList        = "freepublish/batchget"
	opDelete      = "freepublish/delete"
)

func path(op string) string { return "/cgi-bin/" + op }

// news is an article as the platform takes and gives it.
type news struct {
	Type               string    `json:"article_type,omitempty"`
	Title              string    `json:"title"`
	Author             string    `json:"author,omitempty"`
	Digest             string    `json:"digest,omitempty"`
	Content            string    `json:"content,omitempty"`
	SourceURL          string    `json:"content_source_url,omitempty"`
	ThumbMediaID       string    `json:"thumb_media_id,omitempty"`
	NeedOpenComment    int       `json:"need_open_comment"`
	OnlyFansCanComment int       `json:"only_fans_can_comment"`
	Images             *imageSet `json:"image_info,omitempty"`
	URL                string    `json:"url,omitempty"`
	Deleted            bool      `json:"is_deleted,omitempty"`
}

// imageSet is the pictures of an image post.
type imageSet struct {
	List []imageID `json:"image_list"`
}

type imageID struct {
	MediaID string `json:"image_media_id"`
}

// entry is a draft or a publication in a list.
type entry struct {
	MediaID   string `json:"media_id"`
	ArticleID string `json:"article_id"`
	Content   struct {
		News []news `json:"news_item"`
	} `json:"content"`
	Updated int64 `json:"update_time"` // seconds since 1970
}

// id is a text that the platform sometimes sends as a number.
type id string

// UnmarshalJSON takes both.
func (i *id) UnmarshalJSON(b []byte) error {
	*i = id(strings.Trim(string(b), `"`))
	return nil
}

func (c *Client) addDraft(ctx context.Context, a news) (mediaID string, err error) {
	var out struct {
		MediaID string `json:"media_id"`
	}
	err = c.post(ctx, httpx.Write, opAddDraft, map[string]any{"articles": []news{a}}, &out)
	return out.MediaID, err
}

func (c *Client) updateDraft(ctx context.Context, mediaID string, a news) error {
	return c.post(ctx, httpx.Idempotent, opUpdateDraft, map[string]any{"media_id": mediaID, "index": 0, "articles": a}, nil)
}

// draftExists reports whether a draft is in the draft box, which it leaves when it
// is published or deleted.
func (c *Client) draftExists(ctx context.Context, mediaID string) (bool, error) {
	err := c.post(ctx, httpx.Read, opGetDraft, map[string]any{"media_id": mediaID}, nil)
	if hasCode(err, codeMediaID) {
		return false, nil
	}
	return err == nil, err
}

func (c *Client) countDrafts(ctx context.Context) error {
	return c.call(ctx, httpx.Read, opCountDrafts, http.MethodGet, nil, nil)
}

// deleteDraft deletes a draft; one that is not there is no error.
func (c *Client) deleteDraft(ctx context.Context, mediaID string) error {
	err := c.post(ctx, httpx.Idempotent, opDeleteDraft, map[string]any{"media_id": mediaID}, nil)
	if hasCode(err, codeMediaID) {
		return nil
	}
	return err
}

func (c *Client) submitDraft(ctx context.Context, mediaID string) (publishID string, err error) {
	var out struct {
		PublishID id `json:"publish_id"`
	}
	err = c.post(ctx, httpx.Write, opSubmit, map[string]any{"media_id": mediaID}, &out)
	return string(out.PublishID), err
}

// job is how a publication is doing.
type job struct {
	Status    int    `json:"publish_status"`
	ArticleID string `json:"article_id"`
	Detail    struct {
		Items []struct {
			URL string `json:"article_url"`
		} `json:"item"`
	} `json:"article_detail"`
	Failed []int `json:"fail_idx"`
}

func (c *Client) jobStatus(ctx context.Context, publishID string) (job, error) {
	var out job
	return out, c.post(ctx, httpx.Read, opStatus, map[string]any{"publish_id": publishID}, &out)
}

// list reads one page of drafts or publications, without their content.
func (c *Client) list(ctx context.Context, op string, offset int) (items []entry, total int, err error) {
	var out struct {
		Total int     `json:"total_count"`
		Items []entry `json:"item"`
	}
	err = c.post(ctx, httpx.Read, op, map[string]any{"offset": offset, "count": pageSize, "no_content": 1}, &out)
	return out.Items, out.Total, err
}

// deleteArticle takes a publication from readers, for ever; one that is not there
// is no error.
func (c *Client) deleteArticle(ctx context.Context, articleID string) error {
	err := c.post(ctx, httpx.Idempotent, opDelete, map[string]any{"article_id": articleID}, nil)
	if hasCode(err, codeArticleID) {
		return nil
	}
	return err
}

// media is the reply of an upload.
type media struct {
	MediaID string `json:"media_id"`
	URL     string `json:"url"`
}

// upload sends a picture. Sent twice it is there twice, which nobody sees.
func (c *Client) upload(ctx context.Context, op, name, mediaType string, data []byte) (media, error) {
	var out media
	err := c.call(ctx, httpx.Idempotent, op, http.MethodPost, func(r *resty.Request) {
		if op == opMaterial {
			r.SetQueryParam("type", "image")
		}
		r.SetMultipartField("media", name, mediaType, bytes.NewReader(data))
	}, &out)
	return out, err
}

func (c *Client) post(ctx context.Context, call httpx.Call, op string, body, out any) error {
	return c.call(ctx, call, op, http.MethodPost, jsonBody(body), out)
}

// jsonBody sends a body with its characters as they are: the platform shows
// \uXXXX to readers, or refuses it.
func jsonBody(v any) func(*resty.Request) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // requests hold nothing that has no JSON
	return func(r *resty.Request) {
		r.SetHeader("Content-Type", "application/json; charset=utf-8").SetBody(bytes.TrimSpace(b.Bytes()))
	}
}

// call makes one call with the account's token. If the platform refuses the token
// the call is repeated once with another one: what was refused was not done.
func (c *Client) call(ctx context.Context, call httpx.Call, op, method string, build func(*resty.Request), out any) error {
	token, err := c.token(ctx, "")
	if err != nil {
		return err
	}
	err = c.send(ctx, call, op, method, token, build, out)
	if !hasCode(err, refusedTokens...) {
		return err
	}
	another, renewal := c.token(ctx, token)
	if errors.Is(renewal, errSameToken) {
		return err
	}
	if renewal != nil {
		return renewal
	}
	return c.send(ctx, call, op, method, another, build, out)
}

func (c *Client) send(ctx context.Context, call httpx.Call, op, method, token string, build func(*resty.Request), out any) error {
	reply, err := c.http.Do(ctx, call, op, method, path(op), func(r *resty.Request) {
		r.SetQueryParam("access_token", token)
		if build != nil {
			build(r)
		}
	})
	if err == nil {
		err = c.read(reply, call, op, token, out)
	}
	e, ok := errors.AsType[*platforms.Error](err)
	if !ok {
		return err
	}
	e.Message = c.http.Redact(e.Message, platforms.Secret(token))
	if e.Code == codeDayQuota && op != opQuota {
		e.Message += c.quota(ctx, op, token)
	}
	return e
}

// read takes the platform's own code first: business errors come with status 200,
// and a success often has no code at all.
func (c *Client) read(reply *httpx.Reply, call httpx.Call, op, token string, out any) error {
	var said struct {
		Code    int64  `json:"errcode"`
		Message string `json:"errmsg"`
	}
	err := json.Unmarshal(bytes.TrimPrefix(reply.Body, []byte("\ufeff")), &said)
	if err == nil && said.Code != 0 {
		code := strconv.FormatInt(said.Code, 10)
		message := c.http.Redact(said.Message, platforms.Secret(token))
		return failure(reply, kindOf(op, call, code), code, message, c.jitter)
	}
	if err := reply.Err(); err != nil {
		return err
	}
	if out == nil {
		out = &said
	}
	return reply.JSON(out)
}

// quota says how much of the day's quota of an endpoint is used, for people. It is
// asked once for each refusal, which holds the target until the quota is full again.
func (c *Client) quota(ctx context.Context, op, token string) string {
	var out struct {
		Quota struct {
			Limit int `json:"daily_limit"`
			Used  int `json:"used"`
		} `json:"quota"`
	}
	err := c.send(ctx, httpx.Read, opQuota, http.MethodPost, token, jsonBody(map[string]any{"cgi_path": path(op)}), &out)
	if err != nil || out.Quota.Limit == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of %d calls of today are used", out.Quota.Used, out.Quota.Limit)
}
