package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"herald/article"
)

const (
	// maxPixels is the largest picture that is decoded: what a telephone takes at
	// its highest setting. It bounds the memory to about 1 GB.
	maxPixels = 64_000_000
	// maxAnimation is the most pixels of all pictures of an animation together:
	// a reader's device has to hold them.
	maxAnimation = 1_000_000_000
	// maxScanned bounds pixels times passes of a progressive JPEG, each of which
	// may go over the whole picture with a few bytes.
	maxScanned = 2_000_000_000
	// sniffBytes is how much of the beginning tells the type; an SVG may begin
	// with a long comment.
	sniffBytes = 64 << 10
)

const (
	typePNG  = "image/png"
	typeJPEG = "image/jpeg"
	typeGIF  = "image/gif"
	typeWebP = "image/webp"
	typeTIFF = "image/tiff"
	typeSVG  = "image/svg+xml"
)

// format is what is known of a media type. Without functions it is known by
// name only.
type format struct {
	label, extension string
	config           func(io.Reader) (image.Config, error)
	decode           func(io.Reader) (image.Image, error)
}

var formats = map[string]format{
	typePNG:        {"PNG", ".png", png.DecodeConfig, png.Decode},
	typeJPEG:       {"JPEG", ".jpg", jpeg.DecodeConfig, jpeg.Decode},
	typeGIF:        {"GIF", ".gif", gif.DecodeConfig, gif.Decode},
	typeWebP:       {"WebP", ".webp", webp.DecodeConfig, webp.Decode},
	typeTIFF:       {"TIFF", ".tif", tiff.DecodeConfig, tiff.Decode},
	typeSVG:        {"SVG", ".svg", nil, nil},
	"image/bmp":    {"BMP", ".bmp", bmp.DecodeConfig, bmp.Decode},
	"image/x-icon": {"an icon (ICO)", ".ico", nil, nil},
	"image/heic":   {"HEIC", ".heic", nil, nil},
	"image/avif":   {"AVIF", ".avif", nil, nil},
}

// label is what people call a media type.
func label(mediaType string) string {
	if f, ok := formats[mediaType]; ok {
		return f.label
	}
	return mediaType
}

func labels(types []string) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = label(t)
	}
	return strings.Join(names, ", ")
}

// source is a picture as it came.
type source struct {
	name      string
	data      []byte
	mediaType string

	width, height int // as shown; zero for an SVG
	frames        int // of an animation; 0 or 1 if it is none
	orientation   int // EXIF: how to turn what is stored, 1 to 8
	located       bool
	cmyk          bool
	lossy         bool // a photograph, most likely

	notes []string
}

// upright reports whether the picture is stored as it is shown.
func (s *source) upright() bool { return s.orientation <= 1 }

// read finds out about a picture without decoding it.
func read(data []byte, name string) (*source, error) {
	s := &source{name: name, data: data, orientation: 1}
	if len(data) == 0 {
		return nil, s.fail(RuleEmpty, "is empty (0 bytes)", "export or copy the picture again")
	}
	head := data[:min(len(data), sniffBytes)]
	s.mediaType = article.PictureType(head)
	f, ok := formats[s.mediaType]
	switch {
	case !ok:
		return nil, s.fail(RuleNoPicture, "is not a picture ("+http.DetectContentType(head)+")", "use PNG, JPEG, GIF, WebP, BMP, TIFF or SVG")
	case s.mediaType == typeSVG:
		return s, nil
	case f.config == nil:
		return nil, s.fail(RuleUnsupported, "is "+f.label+", which herald cannot decode", "save it as JPEG or PNG")
	}
	config, err := safely(func() (image.Config, error) { return f.config(bytes.NewReader(data)) })
	if err != nil || config.Width <= 0 || config.Height <= 0 {
		return nil, s.damaged(err)
	}
	s.width, s.height = config.Width, config.Height
	if s.width > maxPixels/s.height {
		return nil, s.fail(RuleTooCostly, fmt.Sprintf("has %d x %d pixels, more than %d million", s.width, s.height, maxPixels/1_000_000),
			"make the picture smaller")
	}
	return s, s.look(config)
}

// look finds out what only one type of picture has.
func (s *source) look(config image.Config) error {
	switch s.mediaType {
	case typeJPEG:
		s.lossy, s.cmyk = true, config.ColorModel == color.CMYKModel
		if scans := bytes.Count(s.data, []byte{0xFF, 0xDA}); scans > maxScanned/(s.width*s.height) {
			return s.fail(RuleTooCostly, fmt.Sprintf("is drawn in %d passes", scans), "save the picture again")
		}
	case typeGIF:
		s.frames = gifFrames(s.data)
	case typePNG:
		s.frames = apngFrames(s.data)
	case typeWebP:
		w := parseWebP(s.data)
		s.frames, s.lossy = w.frames, w.lossy && !w.alpha
	}
	s.orientation, s.located = camera(s.data, s.mediaType)
	if s.orientation >= 5 {
		s.width, s.height = s.height, s.width
	}
	return nil
}

// decode returns the picture, or the first one of an animation, as it is stored.
func (s *source) decode(l Limit) (image.Image, error) {
	if s.mediaType == typeSVG {
		return s.drawSVG(l.Fonts)
	}
	img, err := safely(func() (image.Image, error) {
		if s.mediaType == typeWebP && s.frames > 0 {
			return parseWebP(s.data).decodeFirst()
		}
		return formats[s.mediaType].decode(bytes.NewReader(s.data))
	})
	if err != nil || img.Bounds().Empty() {
		return nil, s.damaged(err)
	}
	canvas := image.Rect(0, 0, s.width, s.height)
	if s.orientation >= 5 {
		canvas = image.Rect(0, 0, s.height, s.width)
	}
	if img.Bounds() != canvas { // a part of the first picture of an animation
		whole := image.NewRGBA(canvas)
		draw.Draw(whole, canvas, img, canvas.Min, draw.Src)
		img = whole
	}
	return img, nil
}

func (s *source) damaged(err error) *Error {
	e := s.fail(RuleDamaged, "is damaged: it cannot be decoded as "+label(s.mediaType), "open it and save it again")
	e.Err = err
	return e
}

// safely makes an error of a panic: a decoder that is given nonsense must not
// end the daemon.
func safely[T any](decode func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decoder panicked: %v", r)
		}
	}()
	return decode()
}

// gifFrames counts the pictures of a GIF by its blocks (GIF89a, appendix B).
func gifFrames(data []byte) int {
	const (
		screen    = 13 // header and logical screen descriptor
		extension = 0x21
		frame     = 0x2C
	)
	colours := func(flags byte) int { // the size of a colour table
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	if len(data) < screen {
		return 0
	}
	frames := 0
	for at := screen + colours(data[10]); at+10 < len(data); {
		switch data[at] {
		case extension:
			at += 2
		case frame:
			frames++
			at += 11 + colours(data[at+9])
		default:
			return frames
		}
		for at < len(data) && data[at] != 0 { // blocks of data, each after its length
			at += 1 + int(data[at])
		}
		at++
	}
	return frames
}

// apngFrames returns the number of pictures of an animated PNG: its chunk acTL
// comes before the first data.
func apngFrames(data []byte) int {
	at := bytes.Index(data, []byte("acTL"))
	if first := bytes.Index(data, []byte("IDAT")); at < 0 || at+8 > len(data) || first < at {
		return 0
	}
	return int(binary.BigEndian.Uint32(data[at+4:]))
}
