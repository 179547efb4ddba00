package httpx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"net/http"
	"net/http/httptest"
	"path"

	"herald/article"
	"herald/article/picture"
	"herald/internal/httpx"
	"herald/platforms"
)

// limit is what the platform of the example takes.
var limit = picture.Limit{Types: []string{"image/png", "image/jpeg"}, MaxBytes: 1<<20 - 1}

// remotePicture is how an adapter gets a remote image ready for its upload.
// Local images come from [article.Image.Open] instead.
func remotePicture(ctx context.Context, im article.Image, o httpx.FetchOptions) (picture.Picture, error) {
	data, _, _, err := httpx.Fetch(ctx, im.URL, o)
	if err != nil {
		return picture.Picture{}, err // already a *platforms.Error
	}
	name := path.Base(im.Ref)
	if im.Name != "" {
		name = im.Name
	}
	p, err := picture.Fit(data, name, limit)
	if bad, ok := errors.AsType[*picture.Error](err); ok {
		return picture.Picture{}, &platforms.Error{
			Platform: o.Platform, Op: "fit image", Kind: platforms.Rejected, Code: string(bad.Rule), Message: bad.Error(), Err: bad,
		}
	}
	return p, err
}

func Example() {
	host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_ = gif.Encode(&b, image.NewRGBA(image.Rect(0, 0, 64, 32)), nil)
		if r.URL.Path == "/broken.gif" {
			b.Truncate(40)
		}
		_, _ = w.Write(b.Bytes())
	}))
	defer host.Close()
	o := httpx.FetchOptions{Platform: "wechat", Transport: host.Client().Transport}

	for _, ref := range []string{host.URL + "/banner.gif", host.URL + "/broken.gif", "http://127.1/"} {
		p, err := remotePicture(context.Background(), article.Image{Ref: ref, URL: ref}, o)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(p.Name, p.Type, p.Width, p.Height)
	}
	// Output:
	// banner.png image/png 64 32
	// wechat fit image: rejected picture-damaged: picture "broken.gif" is damaged: it cannot be decoded as GIF (gif: reading color table: unexpected EOF); open it and save it again
	// wechat fetch image: rejected: image http://127.1/ writes an address as a number; save the picture beside the article and name that file
}
