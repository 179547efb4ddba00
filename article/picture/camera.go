package picture

import (
	"bytes"
	"strings"

	"github.com/bep/imagemeta"
)

// withEXIF are the types of picture that can hold what a camera writes.
var withEXIF = map[string]imagemeta.ImageFormat{
	typeJPEG: imagemeta.JPEG,
	typePNG:  imagemeta.PNG,
	typeWebP: imagemeta.WebP,
	typeTIFF: imagemeta.TIFF,
}

// places are the marks of a place in XMP, which all types hold as plain text,
// and of EXIF in the text chunk that old programs write into a PNG.
var places = [][]byte{[]byte("exif:GPS"), []byte("Raw profile type exif"), []byte("Raw profile type APP1")}

// camera returns how the picture has to be turned, 1 to 8, and whether it tells
// where it was taken. EXIF that cannot be read is taken to tell.
func camera(data []byte, mediaType string) (orientation int, located bool) {
	orientation = 1
	for _, mark := range places {
		located = located || bytes.Contains(data, mark)
	}
	kind, ok := withEXIF[mediaType]
	if !ok {
		return orientation, located
	}
	_, err := imagemeta.Decode(imagemeta.Options{
		R: bytes.NewReader(data), ImageFormat: kind, Sources: imagemeta.EXIF,
		ShouldHandleTag: func(t imagemeta.TagInfo) bool {
			return t.Tag == "Orientation" && t.Namespace == "IFD0" || strings.HasPrefix(t.Tag, "GPS")
		},
		HandleTag: func(t imagemeta.TagInfo) error {
			if t.Tag != "Orientation" {
				located = true
			} else if o, ok := t.Value.(uint16); ok && o >= 1 && o <= 8 {
				orientation = int(o)
			}
			return nil
		},
	})
	return orientation, located || err != nil
}
