package card

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
)

//go:embed fonts/NotoSansSC-Regular.otf
var shipped []byte

// Font is what cards are written with. It is safe for concurrent use.
type Font struct{ sfnt *sfnt.Font }

// Default returns the font that is shipped: Noto Sans SC with the characters of
// GBK.
var Default = sync.OnceValues(func() (*Font, error) { return parse(shipped) })

// Read reads a TrueType or OpenType font, or a collection of such. It refuses one
// without Chinese characters.
func Read(file string) (*Font, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read font: %w", err)
	}
	f, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("font %s: %w", file, err)
	}
	return f, nil
}

func parse(data []byte) (*Font, error) {
	fonts, err := sfnt.ParseCollection(data)
	if err != nil {
		return nil, fmt.Errorf("is no TrueType or OpenType font: %w", err)
	}
	chosen, err := fonts.Font(simplified(fonts))
	if err != nil {
		return nil, fmt.Errorf("is damaged: %w", err)
	}
	f := &Font{chosen}
	if !f.has('中') || !f.has('a') {
		return nil, errors.New("has no Chinese characters, or no Latin ones")
	}
	return f, nil
}

// simplified finds the face of a collection with the forms of mainland China; the
// first one if there is none.
func simplified(fonts *sfnt.Collection) int {
	for i := range fonts.NumFonts() {
		f, err := fonts.Font(i)
		if err != nil {
			continue
		}
		name, err := f.Name(nil, sfnt.NameIDFamily)
		if err == nil && strings.HasSuffix(name, " SC") && !strings.Contains(name, "Mono") {
			return i
		}
	}
	return 0
}

// has reports whether the font has a character.
func (f *Font) has(r rune) bool {
	glyph, err := f.sfnt.GlyphIndex(nil, r)
	return err == nil && glyph != 0
}

// face returns the font in a size, for one goroutine.
func (f *Font) face(size float64) (font.Face, error) {
	face, err := opentype.NewFace(f.sfnt, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return nil, fmt.Errorf("scale the font: %w", err)
	}
	return face, nil
}
