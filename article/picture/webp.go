package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/draw"

	"golang.org/x/image/webp"
)

// webpFile is what the container says (RFC 9649, section 2). Package webp
// decodes still pictures only.
type webpFile struct {
	frames        int    // 0 if it is no animation
	lossy         bool   // the picture, or the first one
	alpha         bool   // beside a lossy picture; a lossless one has its own
	width, height int    // of the canvas of an animation
	first         []byte // the first ANMF chunk's content
}

// parseWebP goes through the chunks of a file until something is out of place.
func parseWebP(data []byte) webpFile {
	const header = 12 // RIFF, length, WEBP
	var w webpFile
	if len(data) < header {
		return w
	}
	eachChunk(data[header:], func(id string, content []byte) {
		w.bitstream(id)
		switch {
		case id == "VP8X" && len(content) >= 10:
			w.width, w.height = 1+uint24(content[4:]), 1+uint24(content[7:])
		case id == "ANMF" && len(content) > frameHeader:
			if w.frames++; w.frames == 1 {
				w.first = content
				eachChunk(content[frameHeader:], func(id string, _ []byte) { w.bitstream(id) })
			}
		}
	})
	return w
}

// bitstream notes what the chunks of a picture say.
func (w *webpFile) bitstream(id string) {
	switch id {
	case "VP8 ":
		w.lossy = true
	case "ALPH":
		w.alpha = true
	}
}

// eachChunk calls f for each whole chunk.
func eachChunk(data []byte, f func(id string, content []byte)) {
	for len(data) >= 8 {
		size := int64(binary.LittleEndian.Uint32(data[4:]))
		if size > int64(len(data)-8) {
			return
		}
		f(string(data[:4]), data[8:8+size])
		data = data[min(8+size+size%2, int64(len(data))):]
	}
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// frameHeader is the length of an ANMF chunk before the picture itself.
const frameHeader = 16

// decodeFirst decodes the first picture of an animation on its canvas.
func (w webpFile) decodeFirst() (image.Image, error) {
	x, y := 2*uint24(w.first), 2*uint24(w.first[3:])
	size := w.first[6:12] // width and height less one, as in VP8X
	frame := image.Rect(x, y, x+1+uint24(size), y+1+uint24(size[3:]))
	canvas := image.Rect(0, 0, w.width, w.height)
	if !frame.In(canvas) {
		return nil, errors.New("first picture is larger than the canvas")
	}
	still := []byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00")
	still = append(append(still, size...), w.first[frameHeader:]...)
	if w.alpha {
		still[20] = 0x10
	}
	binary.LittleEndian.PutUint32(still[4:], uint32(len(still)-8))
	img, err := webp.Decode(bytes.NewReader(still))
	if err != nil || frame == canvas {
		return img, err
	}
	whole := image.NewRGBA(canvas)
	draw.Draw(whole, frame, img, image.Point{}, draw.Src)
	return whole, nil
}
