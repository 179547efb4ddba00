package resvg

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image/color"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/image/font/gofont/goregular"
)

var latin = Options{Zoom: 1, MaxSide: 1000, Fonts: [][]byte{goregular.TTF}, Family: "Go"}

func svg(content string) []byte {
	return []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">` + content + `</svg>`)
}

func TestTheModuleIsTheOneThatTheReadmeNames(t *testing.T) {
	code, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(code)
	if got, want := hex.EncodeToString(sum[:]), "22bf6e9f9a100d972da0411a69c5ba504367fc1fa87b3b64e3f35e53926d2d70"; got != want {
		t.Errorf("SHA-256 = %s, want %s", got, want)
	}
}

func TestDrawings(t *testing.T) {
	red, blue, none := color.RGBA{R: 255, A: 255}, color.RGBA{B: 255, A: 255}, color.RGBA{}
	for _, tt := range []struct {
		name, content string
		x, y          int
		want          color.RGBA
	}{
		{"a filled shape", `<rect width="10" height="10" fill="red"/>`, 5, 5, red},
		{"the ground is transparent", `<rect width="10" height="10" fill="red"/>`, 15, 5, none},
		{"half of it seen through is premultiplied", `<rect width="9" height="9" fill="red" opacity=".5"/>`, 5, 5, color.RGBA{R: 128, A: 128}},
		{"a line under a transformation is as wide as it says", `<path transform="scale(4)" d="M0 2h9" stroke="red"/>`, 5, 9, red},
		{"a hole by the even-odd rule", `<path fill-rule="evenodd" fill="red" d="M0 0h20v20h-20zM5 5h10v10h-10z"/>`, 10, 10, none},
		{"a clip path", `<clipPath id="c"><rect width="5" height="5"/></clipPath><rect width="20" height="20" fill="red" clip-path="url(#c)"/>`, 10, 10, none},
		{"a style sheet", `<style>rect{fill:blue}</style><rect width="10" height="10"/>`, 5, 5, blue},
		{"text in a font that is not there", `<text y="20" font-size="30" font-family="Nowhere" fill="red">██</text>`, 10, 15, red},
		{"a picture inside", `<image width="20" height="20" href="data:image/png;base64,` +
			`iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"/>`, 5, 5, red},
		{"a picture outside is not read", `<image width="20" height="20" href="/etc/passwd"/>`, 5, 5, none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			img, err := Draw(t.Context(), svg(tt.content), latin)
			if err != nil {
				t.Fatal(err)
			}
			if got := img.RGBAAt(tt.x, tt.y); got != tt.want {
				t.Errorf("the pixel at %d,%d is %v, want %v", tt.x, tt.y, got, tt.want)
			}
		})
	}
}

func TestZoomEndsAtTheLongestSide(t *testing.T) {
	for _, tt := range []struct {
		zoom          float64
		maxSide, want int
	}{{1, 1000, 40}, {2, 1000, 80}, {2, 60, 60}, {1, 10, 10}} {
		img, err := Draw(t.Context(), svg(""), Options{Zoom: tt.zoom, MaxSide: tt.maxSide})
		if err != nil {
			t.Fatal(err)
		}
		if got := img.Rect.Dx(); got != tt.want {
			t.Errorf("zoom %v, at most %d: %d wide, want %d", tt.zoom, tt.maxSide, got, tt.want)
		}
	}
}

func TestWhatCannotBeDrawnIsAnError(t *testing.T) {
	for name, drawing := range map[string]string{
		"nothing":          "",
		"cut off":          "<svg",
		"no size":          `<svg xmlns="http://www.w3.org/2000/svg" width="0" height="0"/>`,
		"a foreign entity": `<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>&x;</text></svg>`,
		"not UTF-8":        "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'>\xff</svg>",
	} {
		if _, err := Draw(t.Context(), []byte(drawing), latin); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error = %v, want one line", name, err)
		}
	}
}

// expensive wants a filter over each of thousands of groups.
var expensive = svg(`<filter id="f" x="0" y="0" width="1" height="1"><feTurbulence baseFrequency=".01" numOctaves="10"/></filter>` +
	strings.Repeat(`<g filter="url(#f)"><rect width="40" height="20"/></g>`, 5000))

func TestADrawingEndsWithItsContext(t *testing.T) {
	if err := Compile(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Draw(ctx, expensive, Options{Zoom: 100, MaxSide: 4000}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want deadline exceeded", err)
	}
}

func TestADrawingThatWantsTooMuchMemoryIsAnError(t *testing.T) {
	layers := strings.Repeat(`<g opacity=".5"><rect width="40" height="20"/>`, 3) + strings.Repeat(`</g>`, 3)
	if _, err := Draw(t.Context(), svg(layers), Options{Zoom: 1000, MaxSide: 7000}); err == nil {
		t.Error("4 layers of 7000 x 3500 pixels were drawn in 256 MiB")
	}
}

func TestDrawingsSideBySideAreTheSame(t *testing.T) {
	const n = 4
	var pictures [n][]byte
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			img, err := Draw(t.Context(), svg(`<circle cx="9" cy="9" r="8" fill="teal"/><text y="18">abc</text>`), latin)
			if err != nil {
				t.Error(err)
				return
			}
			pictures[i] = img.Pix
		})
	}
	wg.Wait()
	for i := range n {
		if !bytes.Equal(pictures[i], pictures[0]) {
			t.Errorf("drawing %d differs from the first", i)
		}
	}
}
