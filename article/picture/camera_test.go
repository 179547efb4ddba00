package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image/color"
	"strings"
	"testing"
)

// crc is the checksum of a PNG chunk's name and content.
func crc(chunk []byte) []byte { return binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk)) }

// withChunk puts a chunk behind the header of a PNG.
func withChunk(data []byte, name, content string) []byte {
	chunk := []byte(name + content)
	chunk = append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), chunk...)
	chunk = append(chunk, crc(chunk[4:])...)
	const header = 8 + 25
	return bytes.Join([][]byte{data[:header], chunk, data[header:]}, nil)
}

func TestPicturesAreTurnedUpright(t *testing.T) {
	// Where the red corner of a picture of 80 x 40 is to be seen.
	for orientation, want := range []struct {
		x, y  int
		tall  bool
		whole bool
	}{
		1: {10, 10, false, true}, 2: {70, 10, false, false}, 3: {70, 30, false, false}, 4: {10, 30, false, false},
		5: {10, 10, true, false}, 6: {30, 10, true, false}, 7: {30, 70, true, false}, 8: {10, 70, true, false},
	} {
		if orientation == 0 {
			continue
		}
		for name, l := range map[string]Limit{"whole": {}, "half": {MaxPixels: 800}} {
			p := fit(t, taken(t, corners(80, 40), orientation, false), "a.jpg", l)
			img := decoded(t, p)
			if got := p.Height > p.Width; got != want.tall {
				t.Errorf("orientation %d, %s: %d x %d pixels", orientation, name, p.Width, p.Height)
			}
			scale := max(p.Width, p.Height)
			for y := 10; y < 80; y += 20 {
				for x := 10; x < 80; x += 20 {
					if x*scale/80 >= p.Width || y*scale/80 >= p.Height {
						continue
					}
					var c color.Color = blue
					if x/20 == want.x/20 && y/20 == want.y/20 || inRed(x, y, want.x, want.y, want.tall) {
						c = red
					}
					if got := img.At(x*scale/80, y*scale/80); !near(got, c) {
						t.Errorf("orientation %d, %s: the pixel at %d,%d is %v, want %v", orientation, name, x, y, got, c)
					}
				}
			}
			if got := !p.Changed; got != (want.whole && name == "whole") {
				t.Errorf("orientation %d, %s: kept %v", orientation, name, got)
			}
		}
	}
}

// inRed reports whether x,y is in the quarter of the picture that cx,cy is in.
func inRed(x, y, cx, cy int, tall bool) bool {
	width, height := 80, 40
	if tall {
		width, height = 40, 80
	}
	return x < width/2 == (cx < width/2) && y < height/2 == (cy < height/2)
}

func TestThePlaceWhereItWasTakenIsDropped(t *testing.T) {
	xmp := `<x:xmpmeta><rdf:Description exif:GPSLatitude="48,12.5N"/></x:xmpmeta>`
	webp := testdata(t, "lossy.webp")
	for name, src := range map[string][]byte{
		"EXIF":                taken(t, corners(40, 20), 1, true),
		"EXIF, lying":         taken(t, corners(40, 20), 6, true),
		"XMP":                 withSegment(asJPEG(t, corners(40, 20)), "http://ns.adobe.com/xap/1.0/\x00"+xmp),
		"EXIF that is broken": withSegment(asJPEG(t, corners(40, 20)), "Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x63\x00\x01\x00\x00\x00\x01\x00\x00\x00"),
		"EXIF in PNG":         withChunk(asPNG(t, corners(40, 20)), "eXIf", string(exif(1, true))),
		"XMP in PNG":          withChunk(asPNG(t, corners(40, 20)), "iTXt", "XML:com.adobe.xmp\x00\x00\x00\x00\x00"+xmp),
		"old EXIF in PNG":     withChunk(asPNG(t, corners(40, 20)), "zTXt", "Raw profile type exif\x00\x00x\x9c"),
		"EXIF in WebP":        extendedWebP(webp, "EXIF", exif(1, true)),
	} {
		t.Run(name, func(t *testing.T) {
			p := fit(t, src, "a", Limit{Types: []string{typeJPEG, typePNG, typeWebP}})
			if !p.Changed || !strings.Contains(strings.Join(p.Notes, "\n"), "may tell the place removed") {
				t.Errorf("changed = %v, notes = %q", p.Changed, p.Notes)
			}
			for _, mark := range []string{"Exif", "eXIf", "GPS", "Raw profile"} {
				if bytes.Contains(p.Data, []byte(mark)) {
					t.Errorf("%q is still in the picture", mark)
				}
			}
			decoded(t, p)
		})
	}
}

// extendedWebP adds a chunk to a still WebP of 150 x 103 pixels.
func extendedWebP(still []byte, id string, content []byte) []byte {
	const exifFlag = 8
	data := append([]byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00"), exifFlag, 0, 0, 0, 149, 0, 0, 102, 0, 0)
	data = append(data, still[12:]...)
	data = binary.LittleEndian.AppendUint32(append(data, id...), uint32(len(content)))
	data = append(append(data, content...), make([]byte, len(content)%2)...)
	binary.LittleEndian.PutUint32(data[4:], uint32(len(data)-8))
	return data
}
