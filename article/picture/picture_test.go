package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"
)

// The limits of the Chinese platforms, as their adapters will write them.
var (
	wechatBody  = Limit{Types: []string{typePNG, typeJPEG}, MaxBytes: 1<<20 - 1}
	wechatMedia = Limit{Types: []string{typePNG, typeJPEG, typeGIF, "image/bmp"}, MaxBytes: 10 << 20, Animated: true}
	weibo       = Limit{Types: []string{typeJPEG, typePNG, typeGIF}, MaxBytes: 5<<20 - 1, Animated: true}
	xiaohongshu = Limit{Types: []string{typeJPEG}, MaxBytes: 5 << 20, MaxWidth: 2400}
)

func fit(t *testing.T, src []byte, name string, l Limit) Picture {
	t.Helper()
	p, err := Fit(src, name, l)
	if err != nil {
		t.Fatal(err)
	}
	if !l.takes(p.Type) {
		t.Errorf("type = %s, want one of %v", p.Type, l.Types)
	}
	if !l.takesSize(p.Width, p.Height, len(p.Data)) {
		t.Errorf("%d x %d pixels, %d bytes are over the limit", p.Width, p.Height, len(p.Data))
	}
	if got := p.Changed; got != !bytes.Equal(p.Data, src) || got != (len(p.Notes) > 0) {
		t.Errorf("changed = %v, notes = %q, same bytes: %v", got, p.Notes, bytes.Equal(p.Data, src))
	}
	return p
}

func TestAPictureThatFitsIsKeptByteForByte(t *testing.T) {
	for name, tt := range map[string]struct {
		src    []byte
		limit  Limit
		result string
	}{
		"PNG":                    {asPNG(t, corners(40, 20)), wechatBody, "a.png"},
		"JPEG":                   {asJPEG(t, corners(40, 20)), wechatBody, "a.jpg"},
		"animation where shown":  {animation(t, 3), wechatMedia, "a.gif"},
		"animation of one":       {animation(t, 1), Limit{Types: []string{typeGIF}}, "a.gif"},
		"WebP":                   {testdata(t, "lossy.webp"), Limit{Types: []string{typeWebP}}, "a.webp"},
		"animated WebP":          {animatedWebP(t, testdata(t, "lossy.webp"), 2, 0), Limit{Types: []string{typeWebP}, Animated: true}, "a.webp"},
		"BMP":                    {asBMP(t, corners(40, 20)), wechatMedia, "a.bmp"},
		"SVG":                    {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), Limit{Types: []string{typeSVG}}, "a.svg"},
		"upright camera picture": {taken(t, corners(40, 20), 1, false), wechatBody, "a.jpg"},
		"no limit at all":        {asTIFF(t, corners(40, 20)), Limit{}, "a.tif"},
	} {
		t.Run(name, func(t *testing.T) {
			p := fit(t, tt.src, "a.jpg", tt.limit) // the name is no evidence
			if p.Changed {
				t.Errorf("the picture was changed: %q", p.Notes)
			}
			if p.Name != tt.result {
				t.Errorf("name = %q, want %q", p.Name, tt.result)
			}
		})
	}
}

func TestTypesAreConverted(t *testing.T) { // B63
	for name, tt := range map[string]struct {
		src   []byte
		limit Limit
		want  string
		note  string
	}{
		"lossy WebP":               {testdata(t, "lossy.webp"), wechatBody, typeJPEG, "from WebP to JPEG"},
		"WebP with alpha":          {testdata(t, "alpha.webp"), wechatBody, typePNG, "from WebP to PNG"},
		"lossless WebP":            {testdata(t, "lossless.webp"), wechatBody, typePNG, "from WebP to PNG"},
		"lossless WebP, JPEG only": {testdata(t, "lossless.webp"), xiaohongshu, typeJPEG, "from WebP to JPEG"},
		"animated WebP":            {animatedWebP(t, testdata(t, "lossy.webp"), 3, 0), wechatBody, typeJPEG, "first of 3"},
		"animated alpha WebP":      {animatedWebP(t, testdata(t, "alpha.webp"), 3, 10), wechatBody, typePNG, "first of 3"},
		"animated GIF":             {animation(t, 4), wechatBody, typePNG, "first of 4"},
		"still GIF":                {animation(t, 1), wechatBody, typePNG, "from GIF to PNG"},
		"BMP":                      {asBMP(t, corners(40, 20)), wechatBody, typePNG, "from BMP"},
		"TIFF":                     {asTIFF(t, corners(40, 20)), weibo, typeJPEG, "from TIFF"},
		"CMYK":                     {testdata(t, "cmyk.jpeg"), wechatBody, typeJPEG, "CMYK"},
		"PNG where JPEG is taken":  {asPNG(t, corners(40, 20)), xiaohongshu, typeJPEG, "from PNG to JPEG"},
		"JPEG where PNG is taken":  {asJPEG(t, corners(40, 20)), Limit{Types: []string{typePNG}}, typePNG, "from JPEG to PNG"},
	} {
		t.Run(name, func(t *testing.T) {
			p := fit(t, tt.src, "图.jpg", tt.limit)
			decoded(t, p)
			if p.Type != tt.want {
				t.Errorf("type = %s, want %s", p.Type, tt.want)
			}
			if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, tt.note) {
				t.Errorf("notes = %q, want %q among them", p.Notes, tt.note)
			}
			if want := "image" + formats[tt.want].extension; p.Name != want {
				t.Errorf("name = %q, want %q", p.Name, want)
			}
		})
	}
}

func TestTheFirstPictureOfAnAnimationStandsOnItsCanvas(t *testing.T) {
	img := decoded(t, fit(t, animation(t, 2), "a.gif", wechatBody))
	for _, tt := range []struct {
		x    int
		want color.Color
	}{{0, clear}, {10, red}, {29, red}, {30, clear}} {
		if got := img.At(tt.x, 10); !near(got, tt.want) {
			t.Errorf("the pixel at %d is %v, want %v", tt.x, got, tt.want)
		}
	}
	still := decoded(t, fit(t, testdata(t, "alpha.webp"), "a", wechatBody))
	moved := decoded(t, fit(t, animatedWebP(t, testdata(t, "alpha.webp"), 2, 10), "a", wechatBody))
	if got, want := moved.Bounds().Dx(), still.Bounds().Dx()+20; got != want {
		t.Errorf("the canvas is %d wide, want %d", got, want)
	}
	if got, want := moved.At(110, 110), still.At(100, 100); !near(got, want) {
		t.Errorf("the pixel is %v, want %v", got, want)
	}
}

func TestAnAnimationThatIsTooLargeBecomesItsFirstPicture(t *testing.T) {
	gif := animation(t, 50)
	for name, l := range map[string]Limit{
		"bytes":  {Types: weibo.Types, MaxBytes: int64(len(gif)) - 1, Animated: true},
		"pixels": {Types: weibo.Types, MaxWidth: 39, Animated: true},
	} {
		if p := fit(t, gif, "a.gif", l); p.Type == typeGIF || !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "first of 50") }) {
			t.Errorf("%s: type = %s, notes = %q", name, p.Type, p.Notes)
		}
	}
}

func TestPicturesShrinkUntilTheyFit(t *testing.T) { // B64
	over := asJPEG(t, noise(400, 300))
	for name, tt := range map[string]struct {
		src   []byte
		limit Limit
		note  string
	}{
		"a PNG of 3 MB":           {asPNG(t, noise(1000, 1000)), wechatBody, "from PNG to JPEG"},
		"a JPEG a little over":    {over, Limit{Types: []string{typeJPEG}, MaxBytes: int64(len(over)) - 1}, "saved again"},
		"a JPEG far over":         {over, Limit{Types: []string{typeJPEG}, MaxBytes: 20_000}, "scaled from 400 x 300"},
		"noise as PNG":            {asPNG(t, noise(300, 300)), Limit{Types: []string{typePNG}, MaxBytes: 50_000}, "scaled"},
		"a tall one":              {asPNG(t, image.NewGray(image.Rect(0, 0, 60, 20_000))), Limit{Types: wechatBody.Types, MaxHeight: 10_000, MinWidth: 30}, "to 30 x 10000"},
		"a wide one":              {asPNG(t, image.NewGray(image.Rect(0, 0, 5000, 100))), xiaohongshu, "to 2400 x 48"},
		"one with many pixels":    {asPNG(t, photo(400, 200)), Limit{MaxPixels: 20_000}, "to 200 x 100"},
		"one that fits nearly":    {asPNG(t, photo(101, 100)), Limit{MaxWidth: 100}, "to 100 x 99"},
		"a big one with 16 bits":  {asPNG(t, image.NewNRGBA64(image.Rect(0, 0, 900, 900))), Limit{MaxWidth: 200}, "to 200 x 200"},
		"one to a single pixel":   {asPNG(t, photo(500, 10)), Limit{MaxWidth: 1}, "to 1 x 1"},
		"one into very few bytes": {asPNG(t, noise(300, 300)), Limit{Types: []string{typePNG}, MaxBytes: 80}, "scaled"},
	} {
		t.Run(name, func(t *testing.T) {
			p := fit(t, tt.src, "a.png", tt.limit)
			decoded(t, p)
			if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, tt.note) {
				t.Errorf("notes = %q, want %q among them", p.Notes, tt.note)
			}
		})
	}
}

func TestLittleIsLostToFit(t *testing.T) {
	l := Limit{Types: []string{typeJPEG}, MaxBytes: 50_000}
	if p := fit(t, asPNG(t, noise(500, 500)), "a.png", l); len(p.Data) < 25_000 {
		t.Errorf("%d bytes of %d are used", len(p.Data), l.MaxBytes)
	}
}

func TestColoursAreKept(t *testing.T) {
	deep := image.NewNRGBA64(image.Rect(0, 0, 8, 8))
	gray := image.NewGray16(deep.Rect)
	for i := range 64 {
		deep.SetNRGBA64(i%8, i/8, color.NRGBA64{0xFFFF, 0, 0, 0x8000})
		gray.SetGray16(i%8, i/8, color.Gray16{0x8000})
	}
	half := color.NRGBA{255, 0, 0, 128}
	opaqueHalf := color.NRGBA{255, 127, 127, 255}
	for name, tt := range map[string]struct {
		src  []byte
		as   string
		want color.Color
	}{
		"16 bits":              {asTIFF(t, deep), typePNG, half},
		"transparent as PNG":   {asTIFF(t, deep), typePNG, half},
		"transparent on white": {asPNG(t, deep), typeJPEG, opaqueHalf},
		"nothing on white":     {asPNG(t, image.NewNRGBA(deep.Rect)), typeJPEG, color.White},
		"gray of 16 bits":      {asTIFF(t, gray), typePNG, color.Gray{128}},
		"gray as JPEG":         {asPNG(t, gray), typeJPEG, color.Gray{128}},
		"palette":              {animation(t, 2), typePNG, red},
		"palette as JPEG":      {animation(t, 2), typeJPEG, red},
		"photograph as PNG":    {asJPEG(t, corners(40, 40)), typePNG, red},
	} {
		x := 4
		if strings.HasPrefix(name, "palette") {
			x = 15
		}
		img := decoded(t, fit(t, tt.src, "a", Limit{Types: []string{tt.as}}))
		if got := img.At(x, 4); !near(got, tt.want) {
			t.Errorf("%s: the pixel is %v, want %v", name, got, tt.want)
		}
	}
}

func TestTheSameSourceGivesTheSameBytes(t *testing.T) {
	src := asPNG(t, noise(400, 400))
	l := Limit{Types: wechatBody.Types, MaxBytes: 50_000}
	first, second := fit(t, src, "a.png", l), fit(t, src, "b.png", l)
	if first.SHA256 != second.SHA256 || len(first.SHA256) != 64 {
		t.Errorf("SHA-256 %s and %s", first.SHA256, second.SHA256)
	}
}

func TestWhatIsRefused(t *testing.T) { // B56, B64
	ftyp := func(brand string) []byte {
		return []byte("\x00\x00\x00\x18ftyp" + brand + "\x00\x00\x00\x00mif1" + brand + "....")
	}
	whole := asPNG(t, corners(400, 400))
	passes := append(asJPEG(t, corners(400, 400)), bytes.Repeat([]byte{0xFF, 0xDA}, maxScanned/(400*400))...)
	for name, tt := range map[string]struct {
		src   []byte
		limit Limit
		rule  Rule
		text  string
	}{
		"0 bytes":               {nil, wechatBody, RuleEmpty, "0 bytes"},
		"a web page":            {[]byte("<!doctype html><title>404</title>"), wechatBody, RuleNoPicture, "text/html"},
		"text":                  {[]byte("hello"), Limit{}, RuleNoPicture, "not a picture"},
		"HEIC":                  {ftyp("heic"), wechatBody, RuleUnsupported, "is HEIC, which herald cannot decode; save it as JPEG or PNG"},
		"AVIF":                  {ftyp("avif"), wechatBody, RuleUnsupported, "AVIF"},
		"an icon":               {[]byte("\x00\x00\x01\x00\x01\x00\x10\x10"), wechatBody, RuleUnsupported, "ICO"},
		"a PNG cut in its head": {whole[:20], wechatBody, RuleDamaged, "PNG"},
		"a PNG cut in half":     {whole[:len(whole)/2], xiaohongshu, RuleDamaged, "cannot be decoded as PNG (png: "},
		"a bomb":                {bomb(t), wechatBody, RuleTooCostly, "has 50000 x 50000 pixels"},
		"a bomb that would fit": {bomb(t), Limit{}, RuleTooCostly, "pixels"},
		"too many passes":       {passes, wechatBody, RuleTooCostly, "passes"},
		"too tall to read": {
			asPNG(t, image.NewGray(image.Rect(0, 0, 60, 20_000))),
			Limit{MaxHeight: 4096, MinWidth: 100},
			RuleTooLarge,
			"has 60 x 20000 pixels; to fit the platform it would be only 12 wide; split it",
		},
		"not even one pixel fits": {asPNG(t, noise(30, 30)), Limit{MaxBytes: 10}, RuleTooLarge, "10 bytes"},
		"a type nobody writes":    {asPNG(t, corners(4, 4)), Limit{Types: []string{typeGIF, typeWebP}}, RuleUnsupported, "cannot be converted to GIF, WebP"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Fit(tt.src, "图 1.png", tt.limit)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error = %v, want an *Error", err)
			}
			if e.Rule != tt.rule || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("rule %s: %v\nwant %s: … %s …", e.Rule, err, tt.rule, tt.text)
			}
			if !strings.HasPrefix(err.Error(), `picture "图 1.png" `) || e.Fix == "" {
				t.Errorf("%v: want the name and a remedy", err)
			}
		})
	}
}

// bomb is a small file that says it is a huge picture.
func bomb(t *testing.T) []byte {
	t.Helper()
	data := asPNG(t, corners(1, 1))
	copy(data[16:], "\x00\x00\xC3\x50\x00\x00\xC3\x50")
	copy(data[29:], crc(data[12:29]))
	if config, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || config.Width != 50_000 {
		t.Fatalf("%v, %v", config, err)
	}
	return data
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"diagram-1a2b3c4d.webp":        "diagram-1a2b3c4d.png",
		"dir/Pasted image 1.PNG":       "Pasted-image-1.png",
		`C:\img\a.b.c`:                 "a-b.png",
		"截图（1）.jpg":                    "1.png",
		"图.png":                        "image.png",
		"":                             "image.png",
		".png":                         "png.png",
		"640":                          "640.png",
		"../../etc/passwd":             "passwd.png",
		strings.Repeat("x", 300) + "y": strings.Repeat("x", 80) + ".png",
		"a\r\nb\".png":                 "a-b.png",
	} {
		if got := fit(t, asPNG(t, corners(2, 2)), name, Limit{}).Name; got != want {
			t.Errorf("name of %q = %q, want %q", name, got, want)
		}
	}
}

func ExampleFit() {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 3000, 1000)))
	p, err := Fit(b.Bytes(), "图表.png", Limit{Types: []string{"image/jpeg"}, MaxWidth: 1500})
	fmt.Println(p.Name, p.Width, p.Height, err)
	fmt.Println(strings.Join(p.Notes, "; "))
	// Output:
	// image.jpg 1500 500 <nil>
	// converted from PNG to JPEG; scaled from 3000 x 1000 to 1500 x 500 pixels
}
