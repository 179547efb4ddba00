package degrade

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // decoders of what can be decoded here
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"
	"slices"
	"strings"

	_ "golang.org/x/image/bmp" // and the other ones that Go has
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"herald/article"
)

// maxPixels is the largest picture that is decoded as a whole; of a larger one
// the header is. Decoded it takes 64 MiB.
const maxPixels = 16 << 20

// missing finds that there is no title or no text.
func (s *source) missing() []Finding {
	var found []Finding
	if strings.TrimSpace(s.article.Title) == "" {
		found = append(found, Finding{
			Rule: RuleTitle, Severity: Error, Field: "title",
			Message: "the article has no title", Suggestion: `add "title: …" or begin the text with a "# Heading"`,
		})
	}
	if strings.TrimSpace(s.article.Body) == "" && len(s.article.Images) == 0 {
		found = append(found, Finding{
			Rule: RuleBody, Severity: Error,
			Message: "the article has no text", Suggestion: "write the text behind the front matter",
		})
	}
	return found
}

// images finds pictures that are not there and such as cannot be decoded. Remote
// ones are not looked at.
func (s *source) images() []Finding {
	var found []Finding
	looked := map[string]bool{"": true}
	for _, im := range s.pictures() {
		if looked[im.Path] {
			continue
		}
		looked[im.Path] = true
		f := Finding{Field: "cover"}
		if offset := strings.Index(s.article.Body, im.Ref); offset >= 0 {
			f = Finding{Line: s.line(offset)}
		}
		switch err := decodable(im.Path); {
		case err == nil:
			continue
		case errors.As(err, new(*os.PathError)):
			f.Rule, f.Severity, f.Suggestion = RuleImage, Error, "put the picture back or correct its name"
			f.Message = fmt.Sprintf("image %q cannot be read", im.Ref)
		default:
			f.Rule, f.Severity, f.Suggestion = RuleImageBroken, Warning, "export or copy the picture again"
			f.Message = fmt.Sprintf("image %q is damaged: %v", im.Ref, err)
		}
		found = append(found, f)
	}
	return found
}

// pictures are the images of the body and all covers.
func (s *source) pictures() []article.Image {
	a := s.article
	all := slices.Clone(a.Images)
	if a.Cover != nil {
		all = append(all, *a.Cover)
	}
	for _, values := range a.Overrides {
		if cover, ok := values["cover"].(*article.Image); ok && cover != nil {
			all = append(all, *cover)
		}
	}
	return all
}

// decodable returns why a picture cannot be decoded. Formats without a decoder,
// such as SVG and AVIF, are taken as they are.
func decodable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	config, _, err := image.DecodeConfig(bufio.NewReader(f))
	switch {
	case errors.Is(err, image.ErrFormat):
		return nil
	case err != nil:
		return err
	case config.Width*config.Height > maxPixels:
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, _, err = image.Decode(bufio.NewReader(f))
	return err
}
