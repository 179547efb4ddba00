package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

var (
	red   = color.NRGBA{R: 255, A: 255}
	green = color.NRGBA{G: 255, A: 255}
	blue  = color.NRGBA{B: 255, A: 255}
	clear = color.NRGBA{}
)

// corners is a picture whose upper left corner is red, the rest blue.
func corners(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := blue
			if x < width/2 && y < height/2 {
				c = red
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

// noise is a picture that does not compress.
func noise(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	_, _ = rand.NewChaCha8([32]byte{}).Read(img.Pix) // never fails
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 255
	}
	return img
}

// photo is a picture with slow changes and some noise, like a photograph.
func photo(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	r := rand.New(rand.NewPCG(1, 2))
	for y := range height {
		for x := range width {
			grain := r.IntN(12)
			img.SetNRGBA(x, y, color.NRGBA{byte(x*200/width + grain), byte(y*200/height + grain), byte((x+y)*100/(width+height) + grain), 255})
		}
	}
	return img
}

func encoded(t testing.TB, encode func(b *bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	fast := png.Encoder{CompressionLevel: png.BestSpeed}
	return encoded(t, func(b *bytes.Buffer) error { return fast.Encode(b, img) })
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	return encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, img, &jpeg.Options{Quality: 95}) })
}

func asBMP(t testing.TB, img image.Image) []byte {
	t.Helper()
	return encoded(t, func(b *bytes.Buffer) error { return bmp.Encode(b, img) })
}

func asTIFF(t testing.TB, img image.Image) []byte {
	t.Helper()
	return encoded(t, func(b *bytes.Buffer) error { return tiff.Encode(b, img, nil) })
}

// animation is a GIF on a transparent canvas whose pictures are smaller than it.
func animation(t testing.TB, frames int) []byte {
	t.Helper()
	g := &gif.GIF{Config: image.Config{Width: 40, Height: 20}}
	for i := range frames {
		p := image.NewPaletted(image.Rect(10, 0, 30, 20), color.Palette{clear, red, green})
		for j := range p.Pix {
			p.Pix[j] = byte(1 + i%2)
		}
		g.Image, g.Delay = append(g.Image, p), append(g.Delay, 10)
	}
	return encoded(t, func(b *bytes.Buffer) error { return gif.EncodeAll(b, g) })
}

// animatedWebP makes an animation of a still WebP, repeated on a canvas that is
// larger by margin on each side.
func animatedWebP(t testing.TB, still []byte, frames, margin int) []byte {
	t.Helper()
	config, err := webp.DecodeConfig(bytes.NewReader(still))
	if err != nil {
		t.Fatal(err)
	}
	u24 := func(n int) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16)} }
	chunk := func(id string, content ...[]byte) []byte {
		c := bytes.Join(content, nil)
		c = append(binary.LittleEndian.AppendUint32([]byte(id), uint32(len(c))), c...)
		return append(c, make([]byte, len(c)%2)...)
	}
	var picture []byte // without VP8X, which only a file has
	eachChunk(still[12:], func(id string, content []byte) {
		if id != "VP8X" {
			picture = append(picture, chunk(id, content)...)
		}
	})
	size := append(u24(config.Width-1), u24(config.Height-1)...)
	file := [][]byte{
		[]byte("WEBP"),
		chunk("VP8X", []byte{2, 0, 0, 0}, u24(config.Width-1+2*margin), u24(config.Height-1+2*margin)),
		chunk("ANIM", make([]byte, 6)),
	}
	for range frames {
		file = append(file, chunk("ANMF", u24(margin/2), u24(margin/2), size, u24(100), []byte{0}, picture))
	}
	return chunk("RIFF", file...)
}

// tag is one entry of EXIF: of type SHORT, or LONG for the place's directory.
type tag struct {
	id, kind uint16
	value    uint32
}

const (
	orientationTag = 0x0112
	gpsTag         = 0x8825
	short          = 3
	long           = 4
)

// exif is what a camera writes: a TIFF file with an orientation and, if located,
// a directory with the reference of a latitude.
func exif(orientation int, located bool) []byte {
	order := binary.LittleEndian
	directory := func(tags ...tag) []byte {
		d := order.AppendUint16(nil, uint16(len(tags)))
		for _, t := range tags {
			d = order.AppendUint16(d, t.id)
			d = order.AppendUint16(d, t.kind)
			d = order.AppendUint32(d, map[uint16]uint32{short: 1, long: 1, 2: 2}[t.kind])
			d = order.AppendUint32(d, t.value)
		}
		return order.AppendUint32(d, 0)
	}
	tags := []tag{{orientationTag, short, uint32(orientation)}}
	if !located {
		return append([]byte("II*\x00\x08\x00\x00\x00"), directory(tags...)...)
	}
	const second = 8 + 2 + 2*12 + 4
	tags = append(tags, tag{gpsTag, long, second})
	d := append([]byte("II*\x00\x08\x00\x00\x00"), directory(tags...)...)
	return append(d, directory(tag{1, 2, 'N'})...)
}

// withSegment puts a segment behind the start of a JPEG.
func withSegment(data []byte, content string) []byte {
	segment := binary.BigEndian.AppendUint16([]byte{0xFF, 0xE1}, uint16(len(content)+2))
	segment = append(segment, content...)
	return bytes.Join([][]byte{data[:2], segment, data[2:]}, nil)
}

func taken(t testing.TB, img image.Image, orientation int, located bool) []byte {
	t.Helper()
	return withSegment(asJPEG(t, img), "Exif\x00\x00"+string(exif(orientation, located)))
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// decoded decodes a result by its own claim.
func decoded(t testing.TB, p Picture) image.Image {
	t.Helper()
	img, err := formats[p.Type].decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatalf("%s: %v", p.Type, err)
	}
	if b := img.Bounds(); b.Dx() != p.Width || b.Dy() != p.Height {
		t.Errorf("the picture has %d x %d pixels, the result says %d x %d", b.Dx(), b.Dy(), p.Width, p.Height)
	}
	return img
}

// near reports whether two colours look the same; JPEG does not keep them.
func near(a, b color.Color) bool {
	r1, g1, b1, a1 := a.RGBA()
	r2, g2, b2, a2 := b.RGBA()
	for _, d := range []int{int(r1) - int(r2), int(g1) - int(g2), int(b1) - int(b2), int(a1) - int(a2)} {
		if d < -0x1000 || d > 0x1000 {
			return false
		}
	}
	return true
}
