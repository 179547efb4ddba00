package card

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
)

var update = flag.Bool("update", false, "renew the golden files")

const sample = `出错不可怕，可怕的是不知道出了错。一个系统的韧性，不在于它从不失败，而在于每一次失败都有含义：能重试的重试，能补偿的补偿，不能的就说清楚——“第 3 次尝试超时（context deadline exceeded）”。

1. 先写下意图，再调用平台
2. 超时不是失败，而是“不知道”
• 熔断、限流、隔离

if err != nil {
	return err
}

参考 https://example.com/a/very/long/address/that/does/not/fit/on/one/line/of/this/card 完。`

func lay(t *testing.T, title, text string, limit int) *Deck {
	t.Helper()
	f, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Lay(title, text, limit)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func drawn(t *testing.T, d *Deck, i int) []byte {
	t.Helper()
	data, err := d.Draw(i)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestACardLooksAsItShould(t *testing.T) {
	d := lay(t, "错误处理是系统韧性的设计 Go 1.26", sample, 18)
	if d.Len() != 2 || d.Left || d.Missing != "" {
		t.Fatalf("%d cards, left %v, missing %q", d.Len(), d.Left, d.Missing)
	}
	for i, name := range []string{"first.png", "second.png"} {
		golden := filepath.Join("testdata", name)
		got := drawn(t, d, i)
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if n := differing(t, got, want); n > 0 {
			t.Errorf("%s: %d pixels differ; look at it with -update", name, n)
		}
	}
}

// differing counts the pixels that an eye could tell apart: processors round
// differently.
func differing(t *testing.T, a, b []byte) int {
	t.Helper()
	x, y := decode(t, a), decode(t, b)
	if x.Bounds() != y.Bounds() {
		t.Fatalf("%v and %v", x.Bounds(), y.Bounds())
	}
	n := 0
	for i := range x.Pix {
		if d := int(x.Pix[i]) - int(y.Pix[i]); d > 8 || d < -8 {
			n++
		}
	}
	return n
}

func decode(t *testing.T, data []byte) *image.RGBA {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	rgba, ok := img.(*image.RGBA)
	if !ok {
		t.Fatalf("%T is no RGBA", img)
	}
	return rgba
}

func TestTheSameTextGivesTheSameCard(t *testing.T) {
	first := drawn(t, lay(t, "题", "文", 18), 0)
	if again := drawn(t, lay(t, "题", "文", 18), 0); !bytes.Equal(first, again) {
		t.Error("drawn again it differs")
	}
}

func TestNothingOfATextIsLostBetweenCards(t *testing.T) {
	bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
	d := lay(t, "题目", strings.Repeat(sample+"\n\n", 5), 18)
	var all strings.Builder
	for _, page := range d.Pages() {
		all.WriteString(strings.Join(page, ""))
	}
	if diff := cmp.Diff("题目"+strings.Repeat(bare(sample), 5), bare(all.String())); diff != "" {
		t.Errorf("(-sent +drawn):\n%s", diff)
	}
}

func TestNoLineIsWiderThanItsPlaceAndNoneBeginsWithAFullStop(t *testing.T) {
	d := lay(t, strings.Repeat("长", 30), strings.Repeat("一二三四五六七八九。", 60)+strings.Repeat("x", 500), 18)
	faces := map[bool]font.Face{}
	for title, size := range map[bool]float64{true: titleSize, false: textSize} {
		face, err := d.font.face(size)
		if err != nil {
			t.Fatal(err)
		}
		faces[title] = face
	}
	for _, page := range d.pages {
		for _, l := range page {
			if w := font.MeasureString(faces[l.title], l.text).Ceil(); w > measure {
				t.Errorf("%q is %d wide, more than %d", l.text, w, measure)
			}
			if strings.HasPrefix(l.text, "。") || l.y > bottom {
				t.Errorf("line %q at %d", l.text, l.y)
			}
		}
	}
}

func TestATitleIsBalanced(t *testing.T) {
	d := lay(t, "一二三四五六七八九十一二三", "文", 1)
	if want := []string{"一二三四五六七", "八九十一二三", "文"}; !slices.Equal(d.Pages()[0], want) {
		t.Errorf("lines %q, want %q", d.Pages()[0], want)
	}
}

func TestWhatHasNoRoomIsTold(t *testing.T) {
	text := strings.Repeat("一行\n", 40)
	if d := lay(t, "题", text, 18); d.Left || d.Len() != 3 {
		t.Errorf("left %v on %d cards", d.Left, d.Len())
	}
	if d := lay(t, "题", text, 2); !d.Left || d.Len() != 2 {
		t.Errorf("left %v on %d cards, want some on 2", d.Left, d.Len())
	}
}

func TestWhatTheFontLacksIsLeftOutAndTold(t *testing.T) {
	d := lay(t, "题🎉", "文🎉字👍🏽❤️\u200d，韌性與臺灣繁體龘", 18)
	if got := strings.Join(d.Pages()[0], "|"); got != "题|文字，韌性與臺灣繁體龘" {
		t.Errorf("lines %q", got)
	}
	if d.Missing != "🎉👍🏽❤" {
		t.Errorf("missing %q", d.Missing)
	}
}

func TestAFontIsReadOrRefusedWithItsReason(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	tests := []struct{ file, want string }{
		{write("chinese.otf", shipped), ""},
		{write("latin.ttf", goregular.TTF), "has no Chinese characters"},
		{write("text.ttf", []byte("no font")), "is no TrueType or OpenType font"},
		{filepath.Join(dir, "none.ttf"), "no such file"},
	}
	for _, tt := range tests {
		_, err := Read(tt.file)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.file)) {
			t.Errorf("%s: %v, want %q", tt.file, err, tt.want)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	f, err := Default()
	if err != nil {
		b.Fatal(err)
	}
	d, err := f.Lay("题目", sample, 18)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := d.Draw(0); err != nil {
			b.Fatal(err)
		}
	}
}
