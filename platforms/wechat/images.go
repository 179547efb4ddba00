package wechat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"sync"
	"time"

	"herald/article"
	"herald/article/picture"
	"herald/internal/httpx"
	"herald/platforms"
)

const (
	// sideBySide is how many pictures of one article are uploaded at once.
	sideBySide = 4
	// imageTimeout is how long fetching, converting and uploading one picture may
	// take.
	imageTimeout = time.Minute
)

// What the platform takes.
var (
	bodyLimit = picture.Limit{Types: []string{"image/png", "image/jpeg"}, MaxBytes: 1<<20 - 1, MinWidth: 320}
	// Animations go another way: uploadimg refuses them.
	animationLimit = picture.Limit{Types: []string{"image/gif"}, MaxBytes: 10<<20 - 1, Animated: true}
	materialLimit  = picture.Limit{Types: []string{"image/jpeg", "image/png"}, MaxBytes: 10<<20 - 1}
)

// fitting lets one picture at a time be converted: a large one takes a lot of
// memory.
var fitting sync.Mutex

func fit(data []byte, name string, l picture.Limit) (picture.Picture, error) {
	fitting.Lock()
	defer fitting.Unlock()
	return picture.Fit(data, name, l)
}

// mediaKey identifies a picture: a local one by its content. Of a remote one only
// the address is known before it is fetched; of the configured cover, the path.
func mediaKey(im article.Image) string {
	if im.SHA256 != "" {
		return im.SHA256
	}
	sum := sha256.Sum256([]byte(im.URL + im.Path))
	return hex.EncodeToString(sum[:])
}

// upload is one picture on its way. What was uploaded is remembered by the Memo
// under account, use and content, and outlives a republication of the article. How
// far it is shared beyond one delivery is the Memo's business.
type upload struct {
	im       article.Image
	material bool   // permanent: a cover, or a picture of an image post
	key      string // in the Memo
	result   string // media_id of material, else URL
}

func (c *Client) newUpload(im article.Image, material bool) *upload {
	use := "body/"
	if material {
		use = "material/"
	}
	return &upload{im: im, material: material, key: platforms.MediaKey + c.cfg.AppID + "/" + use + mediaKey(im)}
}

// uploads returns the pictures that a post needs, each once; the cover is last.
func (c *Client) uploads(p platforms.Post) []*upload {
	var all []*upload
	seen := map[string]bool{}
	add := func(u *upload) {
		if !seen[u.key] {
			seen[u.key] = true
			all = append(all, u)
		}
	}
	for _, im := range p.Images {
		add(c.newUpload(im, p.Options[optType] == typeImages))
	}
	if p.Cover != nil {
		add(c.newUpload(*p.Cover, true))
	}
	return all
}

// uploadAll uploads what the Memo does not know, some at once. A picture that goes
// wrong does not keep the others back, unless the account is at fault. It returns
// what the platform calls each picture, by its key in the Memo.
func (c *Client) uploadAll(ctx context.Context, all []*upload, m platforms.Memo) (map[string]string, error) {
	begin, stop := context.WithCancel(ctx) // for those that have not begun
	defer stop()
	slots := make(chan struct{}, sideBySide)
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, u := range all {
		if u.result = noted(m, u.key); u.result != "" {
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-begin.Done():
		}
		if begin.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if errs[i] = c.uploadOne(ctx, u, m); isAccounts(errs[i]) {
				stop()
			}
		})
	}
	wg.Wait()
	if err := worst(errs); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, notSent(ctx, opUpload)
	}
	results := map[string]string{}
	for _, u := range all {
		results[u.key] = u.result
	}
	return results, nil
}

// isAccounts reports whether an error would meet every other picture too.
func isAccounts(err error) bool {
	kind := platforms.KindOf(err)
	return kind == platforms.Unauthorized || kind == platforms.RateLimited
}

// worst is the error that decides: of the account, of a picture that can never
// pass, or the first one.
func worst(errs []error) error {
	var found error
	for _, err := range errs {
		switch {
		case err == nil:
		case isAccounts(err):
			return err
		case found == nil, platforms.KindOf(found) == platforms.Unavailable && platforms.KindOf(err) != platforms.Unavailable:
			found = err
		}
	}
	return found
}

// uploadOne uploads a picture within its own time.
func (c *Client) uploadOne(ctx context.Context, u *upload, m platforms.Memo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, imageTimeout, fmt.Errorf("not uploaded in %s", imageTimeout))
	defer cancel()
	if err := c.transfer(ctx, u); err != nil {
		return err
	}
	return note(m, u.key, u.result, platforms.Unavailable)
}

func (c *Client) transfer(ctx context.Context, u *upload) error {
	data, err := c.load(ctx, u.im)
	if err != nil {
		return err
	}
	op, limit := opUpload, bodyLimit
	if u.material {
		op, limit = opMaterial, materialLimit
	}
	var pic picture.Picture
	if !u.material && article.PictureType(data) == "image/gif" {
		if pic, err = fit(data, u.im.Ref, animationLimit); err == nil {
			op = opMaterial
		}
	}
	if op != opMaterial || u.material {
		if pic, err = fit(data, u.im.Ref, limit); err != nil {
			return &platforms.Error{Platform: platform, Op: op, Kind: platforms.Rejected, Message: err.Error(), Err: err}
		}
	}
	for _, n := range pic.Notes {
		c.log.Info("picture changed to fit", "image", c.http.Redact(u.im.Ref), "change", n)
	}
	got, err := c.upload(ctx, op, pic.Name, pic.Type, pic.Data)
	if u.result = got.URL; u.material {
		u.result = got.MediaID
	}
	if err == nil && u.result == "" {
		err = &platforms.Error{Platform: platform, Op: op, Kind: platforms.Dependency, Message: "uploaded, but the answer does not say where it is"}
	}
	if e, ok := errors.AsType[*platforms.Error](err); ok && !isAccounts(err) {
		e.Message = fmt.Sprintf("image %q: %s", c.http.Redact(u.im.Ref), e.Message)
	}
	return err
}

// load reads a picture from the disk or from where it is. Errors name it.
func (c *Client) load(ctx context.Context, im article.Image) ([]byte, error) {
	if im.Path == "" {
		data, _, _, err := httpx.Fetch(ctx, im.URL, httpx.FetchOptions{
			Platform: platform, Timeout: imageTimeout, Referer: c.cfg.referers(), Transport: c.transport,
		})
		return data, err
	}
	f, err := im.Open()
	if err != nil {
		return nil, &platforms.Error{Platform: platform, Op: opUpload, Kind: platforms.Rejected, Message: err.Error(), Err: err}
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, &platforms.Error{Platform: platform, Op: opUpload, Kind: platforms.Unavailable, Message: err.Error(), Err: err}
	}
	return data, nil
}

// source finds the pictures of a rendered body. Nothing else in it looks like this:
// text has neither < nor quotation marks.
var source = regexp.MustCompile(`(<img src=")([^"]*)(")`)

// withAddresses puts the platform's addresses of pictures into a rendered body.
func withAddresses(body string, addresses map[string]string) string {
	return source.ReplaceAllStringFunc(body, func(tag string) string {
		m := source.FindStringSubmatch(tag)
		if address, ok := addresses[html.UnescapeString(m[2])]; ok {
			return m[1] + html.EscapeString(address) + m[3]
		}
		return tag
	})
}
