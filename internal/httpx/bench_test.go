package httpx

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-resty/resty/v2"
)

// BenchmarkPost sends 10 KB to a server on loopback: what a call costs, against
// net/http alone.
func BenchmarkPost(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"id":"1"}`)
	}))
	defer s.Close()
	body := bytes.Repeat([]byte("x"), 10<<10)
	c := New(Options{Platform: "test", BaseURL: []string{s.URL}})

	for name, call := range map[string]Call{"write": Write, "idempotent": Idempotent} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Do(b.Context(), call, "create", http.MethodPost, "/posts", func(r *resty.Request) { r.SetBody(body) }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("net-http", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := http.Post(s.URL+"/posts", "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				b.Fatal(err)
			}
			_ = resp.Body.Close()
		}
	})
}
