package weibo

import (
	"cmp"
	"context"
	"io"
	"time"

	"herald/article"
	"herald/article/picture"
	"herald/internal/httpx"
	"herald/platforms"
)

const (
	opPicture = "picture"
	// fetchTimeout is how long a picture of another host may take.
	fetchTimeout = 30 * time.Second
)

// limit is what statuses/share takes: less than 5 MB.
var limit = picture.Limit{Types: []string{"image/jpeg", "image/png", "image/gif"}, MaxBytes: 5<<20 - 1, Animated: true}

// upload is a picture as it is sent.
type upload struct {
	name, mediaType string
	data            []byte
}

// picture returns the post's picture as Weibo takes it; nil if there is none.
func (c *Client) picture(ctx context.Context, p platforms.Post) (*upload, error) {
	if p.Cover == nil {
		return nil, nil
	}
	source, err := c.load(ctx, *p.Cover)
	if err != nil {
		return nil, err
	}
	fitted, err := picture.Fit(source, cmp.Or(p.Cover.Name, p.Cover.Ref), limit)
	if err != nil {
		return nil, &platforms.Error{Platform: platform, Op: opPicture, Kind: platforms.Rejected, Message: err.Error(), Err: err}
	}
	return &upload{name: fitted.Name, mediaType: fitted.Type, data: fitted.Data}, nil
}

// load reads a picture from the disk or from where it is.
func (c *Client) load(ctx context.Context, im article.Image) ([]byte, error) {
	if im.Path == "" {
		data, _, _, err := httpx.Fetch(ctx, im.URL, httpx.FetchOptions{
			Platform: platform, Timeout: fetchTimeout, Referer: c.cfg.referers(), Transport: c.network,
		})
		return data, err
	}
	f, err := im.Open()
	if err != nil {
		return nil, &platforms.Error{Platform: platform, Op: opPicture, Kind: platforms.Rejected, Message: err.Error(), Err: err}
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, &platforms.Error{Platform: platform, Op: opPicture, Kind: platforms.Unavailable, Message: err.Error(), Err: err}
	}
	return data, nil
}
