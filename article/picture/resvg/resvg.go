// Package resvg draws SVG with the Rust library resvg, compiled to WebAssembly.
// The module is the one of the npm package @resvg/resvg-wasm, unchanged;
// README.md says where it comes from and how to renew it. It runs in a sandbox
// without files, network or clock, its memory is bounded, and it stops with the
// context: what a hostile drawing can cost is known beforehand.
//
// It ignores references to other files, HTML inside of a drawing and characters
// that no given font has; it neither scales nor encodes pictures.
package resvg

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

//go:embed resvg.wasm.gz
var packed []byte

// memoryPages is the most memory that one drawing may use, in pages of 64 KiB.
const memoryPages = 256 << 20 / (64 << 10)

// machineCode keeps the compiled module. To make it takes a second or two, which
// only the first drawing pays.
var machineCode = wazero.NewCompilationCache()

// compile fills machineCode. The runtime stays open: the cache forgets a module
// that nobody has open.
var compile = sync.OnceValues(func() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	code, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	ctx := experimental.WithCompilationWorkers(context.Background(), runtime.GOMAXPROCS(0))
	_, err = wazero.NewRuntimeWithConfig(ctx, runtimeConfig()).CompileModule(ctx, code)
	return code, err
})

func runtimeConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().
		WithCompilationCache(machineCode).
		WithMemoryLimitPages(memoryPages).
		WithCloseOnContextDone(true)
}

// Compile makes ready what all drawings share. [Draw] does it by itself; a caller
// with a deadline calls it before the clock starts.
func Compile() error {
	if _, err := compile(); err != nil {
		return fmt.Errorf("compile resvg: %w", err)
	}
	return nil
}

// Options say how to draw.
type Options struct {
	// Zoom is the number of pixels for one CSS pixel of the drawing; less where
	// a side would be longer than MaxSide pixels.
	Zoom    float64
	MaxSide int
	// Fonts are TrueType or OpenType files. Family is the name of the one that
	// stands in for every font that is not among them.
	Fonts  [][]byte
	Family string
}

// Draw draws an SVG on a transparent ground. The error wraps the context's cause,
// or says what is wrong with the SVG.
func Draw(ctx context.Context, svg []byte, o Options) (*image.RGBA, error) {
	m, err := load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load resvg: %w", withCause(ctx, err))
	}
	defer m.runtime.Close(context.WithoutCancel(ctx))
	img, err := m.draw(ctx, svg, o)
	if err != nil {
		return nil, fmt.Errorf("draw SVG: %w", withCause(ctx, err))
	}
	return img, nil
}

func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	// Of a trap the first line says what it was, the others where in the module.
	first, _, cut := strings.Cut(err.Error(), "\n")
	if cut {
		return errors.New(first)
	}
	return err
}

// machine is one instance of the module, for one drawing.
type machine struct {
	runtime wazero.Runtime
	module  api.Module
	objects objects
}

func load(ctx context.Context) (*machine, error) {
	code, err := compile()
	if err != nil {
		return nil, err
	}
	m := &machine{runtime: wazero.NewRuntimeWithConfig(ctx, runtimeConfig())}
	if err = m.bind(ctx); err == nil {
		m.module, err = m.runtime.Instantiate(ctx, code)
		if err == nil {
			return m, nil
		}
	}
	_ = m.runtime.Close(context.WithoutCancel(ctx))
	return nil, err
}

func (m *machine) draw(ctx context.Context, svg []byte, o Options) (*image.RGBA, error) {
	drawing, err := m.parse(ctx, svg, o, 1)
	if err != nil {
		return nil, err
	}
	zoom, err := m.zoom(ctx, drawing, o)
	if err != nil {
		return nil, err
	}
	if zoom != 1 {
		if drawing, err = m.parse(ctx, svg, o, zoom); err != nil {
			return nil, err
		}
	}
	return m.render(ctx, drawing)
}

// parse returns the handle of the parsed drawing.
func (m *machine) parse(ctx context.Context, svg []byte, o Options, zoom float64) (uint64, error) {
	options, err := json.Marshal(map[string]any{
		"fitTo": map[string]any{"mode": "zoom", "value": zoom},
		"font": map[string]any{
			"loadSystemFonts": false, "defaultFontFamily": o.Family, "serifFamily": o.Family, "sansSerifFamily": o.Family,
			"monospaceFamily": o.Family, "cursiveFamily": o.Family, "fantasyFamily": o.Family,
		},
	})
	if err != nil {
		return 0, err
	}
	text, err := m.copyIn(ctx, options)
	if err != nil {
		return 0, err
	}
	fonts := &array{}
	for _, f := range o.Fonts {
		fonts.items = append(fonts.items, f)
	}
	return m.result(ctx, "resvg_new", m.objects.add(svg), text, uint64(len(options)), m.objects.add(fonts))
}

func (m *machine) zoom(ctx context.Context, drawing uint64, o Options) (float64, error) {
	width, err := m.call(ctx, "resvg_width", drawing)
	if err != nil {
		return 0, err
	}
	height, err := m.call(ctx, "resvg_height", drawing)
	if err != nil {
		return 0, err
	}
	longer := float64(max(api.DecodeF32(width), api.DecodeF32(height)))
	return min(o.Zoom, float64(o.MaxSide)/longer), nil
}

func (m *machine) render(ctx context.Context, drawing uint64) (*image.RGBA, error) {
	picture, err := m.result(ctx, "resvg_render", drawing)
	if err != nil {
		return nil, err
	}
	width, err := m.call(ctx, "renderedimage_width", picture)
	if err != nil {
		return nil, err
	}
	height, err := m.call(ctx, "renderedimage_height", picture)
	if err != nil {
		return nil, err
	}
	pixels, err := m.call(ctx, "renderedimage_pixels", picture)
	if err != nil {
		return nil, err
	}
	data, _ := m.objects.take(pixels).([]byte)
	img := &image.RGBA{Pix: data, Stride: 4 * int(width), Rect: image.Rect(0, 0, int(width), int(height))}
	if len(data) == 0 || len(data) != img.Stride*int(height) {
		return nil, fmt.Errorf("%d bytes for %d x %d pixels", len(data), width, height)
	}
	return img, nil
}
