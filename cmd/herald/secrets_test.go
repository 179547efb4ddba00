package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"herald/state"
)

// B98: a platform that repeats the credential in every error cannot make it
// appear in an output, a log or a file.
func TestNoSecretIsEverTold(t *testing.T) {
	t.Parallel()
	const token, key = "t0ken-that-is-secret", "k3y-that-is-secret"
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "bad request: %s %s %s", r.URL, r.Header.Get("Authorization"), password)
	}))
	defer echo.Close()
	p := newPlace(t, settings+`  - { name: blog, type: site, dir: site }
  - { name: hugo, type: git, repo: "`+echo.URL+`/blog.git", token: `+token+` }
  - { name: hexo, type: git, flavor: hexo, repo: "`+echo.URL+`/hexo.git", token_file: token }
`)
	p.write("token", key)
	d := p.start()
	p.drop("a.md", "# 标题\n\n正文。\n")
	r := p.await("a", "refused", func(r state.Report) bool {
		return delivery(r, "hugo").Error != nil && delivery(r, "hexo").Error != nil && delivery(r, "blog").State == state.Published
	})
	var told strings.Builder
	fmt.Fprintf(&told, "%+v %+v\n", delivery(r, "hugo").Error, delivery(r, "hexo").Error)
	for _, args := range [][]string{
		{"status"},
		{"status", "--json"},
		{"status", "--failed"},
		{"status", "a", "--json"},
		{"targets"},
		{"targets", "--json"},
		{"doctor"},
		{"config", "show"},
		{"config", "validate"},
		{"retry", "a"},
		{"retry", "--target", "hugo"},
	} {
		r := p.herald(args...)
		told.WriteString(r.out + r.err)
	}
	d.stop()
	r2 := p.herald("status", "a")
	told.WriteString(d.out.String() + d.log.String() + r2.out + r2.err)

	var secrets []string
	for _, s := range []string{token, key} {
		secrets = append(secrets, s, base64.StdEncoding.EncodeToString([]byte("herald:"+s)))
	}
	for _, s := range secrets {
		if at := strings.Index(told.String(), s); at >= 0 {
			t.Errorf("%q is told: …%s…", s, told.String()[max(0, at-200):at+len(s)])
		}
	}
	err := filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || path == p.path("token") || path == p.path("herald.yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, s := range secrets {
			if bytes.Contains(data, []byte(s)) {
				t.Errorf("%q stands in %s", s, path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if !strings.Contains(p.herald("config", "show").out, "[redacted]") {
		t.Error("config show does not say that there is a token")
	}
}
