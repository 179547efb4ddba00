package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"slices"

	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
)

// qualities are tried in turn before a picture is made smaller: below the last
// one more pixels are worth less than fewer faults.
var qualities = []int{92, 85, 78, 70}

// shrink converts a decoded picture to the first type that fits, and makes it
// smaller until one does.
func (s *source) shrink(img image.Image, types []string, l Limit) (Picture, error) {
	width, height := l.scaled(s.width, s.height)
	for {
		if width < s.width && width < l.MinWidth {
			return Picture{}, s.fail(RuleTooLarge, fmt.Sprintf("has %d x %d pixels; to fit the platform it would be only %d wide",
				s.width, s.height, width), "split it into several pictures")
		}
		shown := s.turn(img, width, height)
		data, mediaType, err := s.encode(shown, types, l.MaxBytes)
		if err != nil {
			return Picture{}, s.fail(RuleUnsupported, "cannot be converted: "+err.Error(), "convert it by hand")
		}
		if l.MaxBytes == 0 || int64(len(data)) <= l.MaxBytes {
			s.explain(shown, mediaType, width, height)
			p := s.picture(mediaType, data, width, height)
			p.Changed = true
			return p, nil
		}
		// Bytes go roughly with the area.
		factor := min(0.9, 0.97*math.Sqrt(float64(l.MaxBytes)/float64(len(data))))
		if width == 1 && height == 1 {
			return Picture{}, s.fail(RuleTooLarge, fmt.Sprintf("cannot be made as small as %d bytes", l.MaxBytes), "leave it out")
		}
		width, height = max(1, int(float64(width)*factor)), max(1, int(float64(height)*factor))
	}
}

// scaled returns the size that the limit leaves of a picture.
func (l Limit) scaled(width, height int) (int, int) {
	factor := 1.0
	if l.MaxWidth > 0 {
		factor = min(factor, float64(l.MaxWidth)/float64(width))
	}
	if l.MaxHeight > 0 {
		factor = min(factor, float64(l.MaxHeight)/float64(height))
	}
	if l.MaxPixels > 0 {
		factor = min(factor, math.Sqrt(float64(l.MaxPixels)/float64(width*height)))
	}
	if factor == 1 {
		return width, height
	}
	// A hair more than the factor, so that 2000 does not become 1999.
	size := func(n int) int { return max(1, int(float64(n)*factor*(1+1e-12))) }
	return size(width), size(height)
}

// encode returns the picture in the first type, and at the best quality, that
// has at most limit bytes (0: no limit), or else the smallest one.
func (s *source) encode(img image.Image, types []string, limit int64) (smallest []byte, mediaType string, err error) {
	for _, t := range types {
		if t == typePNG && s.hopeless(img, types, limit) {
			continue
		}
		steps, prepare := qualities, opaque
		if t == typePNG {
			steps, prepare = []int{0}, eightBit
		}
		ready := prepare(img)
		for _, quality := range steps {
			var b bytes.Buffer
			if t == typePNG {
				err = png.Encode(&b, ready)
			} else {
				err = jpeg.Encode(&b, ready, &jpeg.Options{Quality: quality})
			}
			if err != nil {
				return nil, "", err
			}
			if smallest == nil || b.Len() < len(smallest) {
				smallest, mediaType = b.Bytes(), t
			}
			if limit == 0 || int64(b.Len()) <= limit {
				return b.Bytes(), t, nil
			}
			if int64(b.Len()) > 4*limit { // more than quality can save
				break
			}
		}
	}
	return smallest, mediaType, nil
}

// hopeless reports whether to write a PNG again is time lost: it does not become
// half as large by that.
func (s *source) hopeless(img image.Image, types []string, limit int64) bool {
	return limit > 0 && s.mediaType == typePNG && int64(len(s.data)) > 2*limit && slices.Contains(types, typeJPEG) &&
		img.Bounds().Dx()*2 > s.width
}

// explain notes what was done.
func (s *source) explain(img image.Image, mediaType string, width, height int) {
	if s.mediaType != mediaType {
		s.note("converted from %s to %s", label(s.mediaType), label(mediaType))
	} else {
		s.note("saved again as %s", label(mediaType))
	}
	if width != s.width || height != s.height {
		s.note("scaled from %d x %d to %d x %d pixels", s.width, s.height, width, height)
	}
	if s.frames > 1 {
		s.note("only the first of %d pictures of the animation is left", s.frames)
	}
	if !s.upright() {
		s.note("turned upright")
	}
	if s.located {
		s.note("camera data that may tell the place removed")
	}
	if s.cmyk {
		s.note("colours converted from CMYK")
	}
	if mediaType == typeJPEG && !isOpaque(img) {
		s.note("transparent parts made white")
	}
}

func isOpaque(img image.Image) bool {
	o, ok := img.(interface{ Opaque() bool })
	return ok && o.Opaque()
}

// opaque lays a picture on white, if it is transparent anywhere.
func opaque(img image.Image) image.Image {
	switch img.(type) {
	case *image.YCbCr, *image.Gray:
		return img
	case *image.RGBA:
		if isOpaque(img) {
			return img
		}
	}
	white := image.NewRGBA(img.Bounds())
	draw.Draw(white, white.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(white, white.Rect, img, white.Rect.Min, draw.Over)
	return white
}

// eightBit keeps what PNG stores well, and makes the rest, such as 16 bits a
// colour, into 8 bits.
func eightBit(img image.Image) image.Image {
	switch img.(type) {
	case *image.Paletted, *image.Gray, *image.NRGBA, *image.RGBA:
		return img
	case *image.Gray16:
		gray := image.NewGray(img.Bounds())
		draw.Draw(gray, gray.Rect, img, gray.Rect.Min, draw.Src)
		return gray
	}
	plain := image.NewNRGBA(img.Bounds())
	draw.Draw(plain, plain.Rect, img, plain.Rect.Min, draw.Src)
	return plain
}

// turn returns the picture upright, and width by height pixels large.
func (s *source) turn(img image.Image, width, height int) image.Image {
	if s.upright() {
		return scale(img, width, height)
	}
	w, h := width, height
	if s.orientation >= 5 {
		w, h = height, width
	}
	stored := scale(img, w, h)
	turned := image.NewRGBA(image.Rect(0, 0, width, height))
	fw, fh := float64(w), float64(h)
	// Where a pixel goes, by EXIF's orientation (CIPA DC-008, 4.6.4.A).
	to := map[int]f64.Aff3{
		2: {-1, 0, fw, 0, 1, 0},
		3: {-1, 0, fw, 0, -1, fh},
		4: {1, 0, 0, 0, -1, fh},
		5: {0, 1, 0, 1, 0, 0},
		6: {0, -1, fh, 1, 0, 0},
		7: {0, -1, fh, -1, 0, fw},
		8: {0, 1, 0, -1, 0, fw},
	}[s.orientation]
	draw.NearestNeighbor.Transform(turned, to, stored, stored.Bounds(), draw.Src, nil)
	return turned
}

// smooth is the largest result, in pixels, of the better scaler: it needs 32
// bytes for each of them and more.
const smooth = 4_000_000

// scale returns the picture in another size, or itself in its own.
func scale(img image.Image, width, height int) image.Image {
	size := img.Bounds()
	if size.Dx() == width && size.Dy() == height {
		return img
	}
	// By halves first, each pixel the mean of four: the better scaler would need
	// memory for the whole.
	for size.Dx() >= 2*width && size.Dy() >= 2*height {
		half := image.NewRGBA(image.Rect(0, 0, (size.Dx()+1)/2, (size.Dy()+1)/2))
		draw.ApproxBiLinear.Scale(half, half.Rect, img, size, draw.Src, nil)
		img, size = half, half.Rect
	}
	scaled := image.NewRGBA(image.Rect(0, 0, width, height))
	var by draw.Scaler = draw.CatmullRom
	if width*height > smooth {
		by = draw.ApproxBiLinear
	}
	by.Scale(scaled, scaled.Rect, img, size, draw.Src, nil)
	return scaled
}
