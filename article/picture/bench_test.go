package picture

import "testing"

// BenchmarkFit makes a photograph of 3 MB, stored as PNG, into a JPEG of less
// than 1 MB, as an article for WeChat needs it.
func BenchmarkFit(b *testing.B) {
	src := asPNG(b, photo(2100, 1700))
	if len(src) < 3_000_000 {
		b.Fatalf("the source has only %d bytes", len(src))
	}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		p, err := Fit(src, "a.png", wechatBody)
		if err != nil || p.Type != typeJPEG || int64(len(p.Data)) > wechatBody.MaxBytes {
			b.Fatalf("%s with %d bytes, %v", p.Type, len(p.Data), err)
		}
	}
}
