package picture

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzFit gives Fit nonsense: it must not panic, and what it returns must fit.
func FuzzFit(f *testing.F) {
	for _, src := range [][]byte{
		asPNG(f, corners(20, 10)),
		withChunk(asPNG(f, corners(20, 10)), "acTL", "\x00\x00\x00\x02\x00\x00\x00\x00"),
		taken(f, corners(20, 10), 6, true),
		testdata(f, "cmyk.jpeg"),
		testdata(f, "lossy.webp"),
		testdata(f, "lossless.webp"),
		animatedWebP(f, testdata(f, "alpha.webp"), 2, 4),
		extendedWebP(testdata(f, "lossy.webp"), "EXIF", exif(8, true)),
		animation(f, 3),
		asBMP(f, corners(20, 10)),
		asTIFF(f, corners(20, 10)),
		svg(`<text>abc</text><use href="#a"/>`),
	} {
		f.Add(src, byte(0))
		f.Add(src[:len(src)/2], byte(7))
		f.Add(append(bytes.Clone(src), src...), byte(3))
	}
	f.Fuzz(func(t *testing.T, src []byte, limits byte) {
		if s, err := read(src, "a"); err == nil && s.mediaType == typeSVG {
			_ = new(svgContent).read(src) // the rest is in a sandbox, and slow
			return
		}
		l := Limit{MaxPixels: 1_000_000, Animated: limits&1 != 0}
		if limits&2 != 0 {
			l.Types = []string{typeJPEG, typePNG}
		}
		if limits&4 != 0 {
			l.MaxBytes, l.MaxWidth, l.MinWidth = 5000, 100, 10
		}
		p, err := Fit(src, "a", l)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Rule == "" || e.What == "" || e.Fix == "" {
				t.Errorf("error = %#v, want a whole *Error", err)
			}
			return
		}
		if !l.takes(p.Type) || !l.takesSize(p.Width, p.Height, len(p.Data)) {
			t.Errorf("%s with %d x %d pixels, %d bytes does not fit %+v", p.Type, p.Width, p.Height, len(p.Data), l)
		}
		if p.Changed {
			decoded(t, p)
		}
	})
}
