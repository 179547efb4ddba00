package xiaohongshu

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"herald/article"
	"herald/article/picture"
	"herald/internal/httpx"
	"herald/platforms"
)

const (
	opPictures = "pictures"
	// maxPicture is more than any picture of a telephone needs, in bytes; larger ones
	// are known to time out.
	maxPicture = 5 << 20
	maxWidth   = 2560
	// fetchTimeout is how long a picture of another host may take.
	fetchTimeout = 30 * time.Second
)

// limit is what the page takes without complaint.
var limit = picture.Limit{
	Types: []string{"image/jpeg", "image/png"}, MaxBytes: maxPicture, MaxWidth: maxWidth, MaxHeight: 2 * maxWidth,
}

// folder is where the pictures of a post lie, below image_dir and image_mount.
func folder(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// writePictures puts the pictures of a post, or its text cards, where the interface
// reads them, and returns their paths there. All are written anew, because the
// interface says nothing of one that is missing.
func (c *Client) writePictures(ctx context.Context, p platforms.Post) ([]string, error) {
	all, err := c.pictures(ctx, p)
	if err != nil {
		return nil, err
	}
	dir := folder(p.Key)
	if err := os.MkdirAll(filepath.Join(c.cfg.ImageDir, dir), 0o755); err != nil {
		return nil, unwritten(err)
	}
	var paths []string
	for i, one := range all {
		name := fmt.Sprintf("%02d%s", i+1, extensions[one.mediaType])
		// The interface may run as another user.
		if err := renameio.WriteFile(filepath.Join(c.cfg.ImageDir, dir, name), one.data, 0o644, renameio.IgnoreUmask()); err != nil {
			return nil, unwritten(err)
		}
		paths = append(paths, path.Join(c.cfg.ImageMount, dir, name))
	}
	return paths, nil
}

// removePictures removes what writePictures wrote for a post.
func (c *Client) removePictures(ctx context.Context, key string) {
	if err := os.RemoveAll(filepath.Join(c.cfg.ImageDir, folder(key))); err != nil {
		c.log.WarnContext(ctx, "pictures of a published note cannot be removed", "error", err)
	}
}

func unwritten(err error) error {
	return &platforms.Error{
		Platform: platform, Op: opPictures, Kind: platforms.Unavailable, Message: "pictures cannot be written to image_dir: " + err.Error(), Err: err,
	}
}

// file is a picture as the interface gets it.
type file struct {
	mediaType string
	data      []byte
}

var extensions = map[string]string{"image/jpeg": ".jpg", "image/png": ".png"}

// pictures returns the pictures of a post as the page takes them, or its cards.
func (c *Client) pictures(ctx context.Context, p platforms.Post) ([]file, error) {
	if len(p.Images) == 0 {
		return c.cards(p)
	}
	var all []file
	for i, im := range p.Images {
		source, err := c.load(ctx, im)
		if err != nil {
			return nil, err
		}
		fitted, err := picture.Fit(source, cmp.Or(im.Name, im.Ref), limit)
		if err != nil {
			return nil, platforms.Rejectf(platform, opPictures, "picture %d of %d: %v", i+1, len(p.Images), err)
		}
		all = append(all, file{fitted.Type, fitted.Data})
	}
	return all, nil
}

func (c *Client) cards(p platforms.Post) ([]file, error) {
	deck, err := c.deck(p)
	if err != nil {
		return nil, err
	}
	var all []file
	for i := range deck.Len() {
		data, err := deck.Draw(i)
		if err != nil {
			return nil, &platforms.Error{Platform: platform, Op: opPictures, Kind: platforms.Dependency, Message: err.Error(), Err: err}
		}
		all = append(all, file{"image/png", data})
	}
	return all, nil
}

// load reads a picture from the disk or from where it is: the interface would fetch
// it by itself, in its own time and unguarded.
func (c *Client) load(ctx context.Context, im article.Image) ([]byte, error) {
	if im.Path == "" {
		data, _, _, err := httpx.Fetch(ctx, im.URL, httpx.FetchOptions{
			Platform: platform, Timeout: fetchTimeout, Referer: c.cfg.referers(), Transport: c.network,
		})
		return data, err
	}
	f, err := im.Open()
	if err != nil {
		return nil, &platforms.Error{Platform: platform, Op: opPictures, Kind: platforms.Rejected, Message: err.Error(), Err: err}
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, &platforms.Error{Platform: platform, Op: opPictures, Kind: platforms.Unavailable, Message: err.Error(), Err: err}
	}
	return data, nil
}
