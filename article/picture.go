package article

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/dustin/go-humanize"
	"golang.org/x/text/unicode/norm"
)

const (
	maxImageBytes = 50 << 20
	sniffBytes    = 16 << 10 // an SVG may begin with a long comment
)

// extensions are the pictures that herald knows, by media type.
var extensions = map[string]string{
	"image/png":     ".png",
	"image/jpeg":    ".jpg",
	"image/gif":     ".gif",
	"image/webp":    ".webp",
	"image/bmp":     ".bmp",
	"image/x-icon":  ".ico",
	"image/svg+xml": ".svg",
	"image/avif":    ".avif",
	"image/heic":    ".heic",
	"image/tiff":    ".tif",
}

// inspect fills in what the content of an image says, and refuses what is no
// picture.
func inspect(f *os.File, im *Image) *Problem {
	invalid := func(what, fix string) *Problem {
		return &Problem{Rule: "image-invalid", What: "image " + quote(im.Ref) + " " + what, Fix: fix}
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return invalid("cannot be read", "check the file")
	case !info.Mode().IsRegular():
		return invalid("is not a file", "name the picture itself")
	case info.Size() == 0:
		return invalid("is empty (0 bytes)", "export or copy the picture again")
	case info.Size() > maxImageBytes:
		return invalid(fmt.Sprintf("has %s, the limit is %s",
			humanize.IBytes(uint64(info.Size())), humanize.IBytes(maxImageBytes)), "make the picture smaller")
	}
	content := io.LimitReader(f, maxImageBytes)
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return invalid("cannot be read", "check the file")
	}
	head = head[:n]
	im.Type = PictureType(head)
	if im.Type == "" {
		return invalid("is not a picture ("+http.DetectContentType(head)+")",
			"use PNG, JPEG, GIF, WebP, AVIF, HEIC or SVG")
	}
	hash := sha256.New()
	hash.Write(head)
	rest, err := io.Copy(hash, content)
	if err != nil {
		return invalid("cannot be read", "check the file")
	}
	im.Size = int64(n) + rest
	im.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return nil
}

// PictureType returns the media type of a picture by the beginning of its
// content, "" if it is none that herald knows.
func PictureType(head []byte) string {
	if t := http.DetectContentType(head); extensions[t] != "" {
		return t
	}
	switch {
	case bytes.HasPrefix(head, []byte("II*\x00")), bytes.HasPrefix(head, []byte("MM\x00*")):
		return "image/tiff"
	case len(head) >= 12 && string(head[4:8]) == "ftyp":
		return isoPictureType(head)
	case isSVG(head):
		return "image/svg+xml"
	}
	return ""
}

// isoPictureType tells AVIF and HEIC apart by the brands of the file type box
// (ISO/IEC 14496-12): the major brand, and from byte 16 on the compatible ones.
func isoPictureType(head []byte) string {
	size := min(int(head[3])|int(head[2])<<8, len(head))
	brands := []string{string(head[8:12])}
	for i := 16; i+4 <= size; i += 4 {
		brands = append(brands, string(head[i:i+4]))
	}
	isOneOf := func(names ...string) bool {
		return slices.ContainsFunc(brands, func(b string) bool { return slices.Contains(names, b) })
	}
	switch {
	case isOneOf("avif", "avis"):
		return "image/avif"
	case isOneOf("heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"):
		return "image/heic"
	default:
		return ""
	}
}

// isSVG reports whether the first element of an XML text is svg.
func isSVG(head []byte) bool {
	dec := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(head, []byte("\uFEFF"))))
	dec.Strict = false
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for {
		t, err := dec.Token()
		if err != nil {
			return false
		}
		switch t := t.(type) {
		case xml.StartElement:
			return t.Name.Local == "svg"
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return false
			}
		}
	}
}

// nameImages gives every local image a file name; the same content has the same
// name.
func (a *Article) nameImages() {
	byContent, byName := map[string]string{}, map[string]string{}
	for im := range a.eachImage() {
		if im.Path == "" {
			continue
		}
		if byContent[im.SHA256] == "" {
			base := strings.TrimSuffix(path.Base(im.Path), path.Ext(im.Path))
			name := ""
			for digits := 8; name == "" || byName[name] != ""; digits += 8 {
				name = asciiSlug(base) + "-" + im.SHA256[:digits] + extensions[im.Type]
			}
			byContent[im.SHA256], byName[name] = name, im.SHA256
		}
		im.Name = byContent[im.SHA256]
	}
}

// eachImage yields the images of the body, the cover and the covers of the
// overrides, in a fixed order.
func (a *Article) eachImage() func(yield func(*Image) bool) {
	return func(yield func(*Image) bool) {
		for i := range a.Images {
			if !yield(&a.Images[i]) {
				return
			}
		}
		if a.Cover != nil && !yield(a.Cover) {
			return
		}
		for _, target := range a.overridden() {
			if cover, ok := a.Overrides[target]["cover"].(*Image); ok && !yield(cover) {
				return
			}
		}
	}
}

// Files returns the local images of the body and of all covers, each file once:
// what a copy of the article must take along.
func (a *Article) Files() []Image {
	var files []Image
	seen := map[string]bool{}
	for im := range a.eachImage() {
		if im.Path != "" && !seen[im.Path] {
			seen[im.Path] = true
			files = append(files, *im)
		}
	}
	return files
}

// asciiSlug returns the ASCII letters and digits of a name joined by "-", at
// most 40, or "image" if it has none.
func asciiSlug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(norm.NFKD.String(name)), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	slug := strings.Trim(truncate(strings.Join(words, "-"), 40, 40), "-")
	if slug == "" {
		return "image"
	}
	return slug
}

func hexSHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
