package platformtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"herald/article"
)

// Articles are what the suite publishes. Their titles differ, and each title is
// found in what readers see of its post.
type Articles struct {
	One     *article.Article
	Other   *article.Article // published at the same time as One
	Revised *article.Article // One in its second revision, with another title
}

// Samples returns articles that most platforms take: short Chinese titles, a
// summary, tags, a cover, and one image each in the text.
func Samples(t testing.TB) Articles {
	t.Helper()
	return Articles{
		One:     sample(t, "errors", "错误处理", "出错不可怕，可怕的是不知道。", color.RGBA{R: 200, A: 255}),
		Revised: sample(t, "errors", "错误处理（修订）", "出错不可怕，可怕的是不知道错在哪里。", color.RGBA{G: 200, A: 255}),
		Other:   sample(t, "circuit-breaker", "熔断器", "坏的时候要断开。", color.RGBA{B: 200, A: 255}),
	}
}

const source = `---
title: %s
author: herald
summary: 摘要：%[2]s
tags: [go, 架构]
cover: cover.png
---

%[2]s

![示意图](figure.png)

` + "```go\nif err != nil {\n\treturn err\n}\n```\n"

func sample(t testing.TB, id, title, text string, c color.Color) *article.Article {
	t.Helper()
	dir := filepath.Join(t.TempDir(), id)
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatalf("make folder of the article: %v", err)
	}
	for name, content := range map[string][]byte{
		"index.md":   fmt.Appendf(nil, source, title, text),
		"figure.png": picture(t, c),
		"cover.png":  picture(t, color.White),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatalf("write article: %v", err)
		}
	}
	return Load(t, dir)
}

// Load reads an article as the queue does, in the zone +08:00.
func Load(t testing.TB, path string) *article.Article {
	t.Helper()
	a, err := article.Load(path, article.Options{Location: time.FixedZone("+08:00", 8*60*60)})
	if err != nil {
		t.Fatalf("load article: %v", err)
	}
	return a
}

// picture is a small PNG of one colour.
func picture(t testing.TB, c color.Color) []byte {
	t.Helper()
	im := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		im.Set(i%64, i/64, c)
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, im); err != nil {
		t.Fatalf("encode picture: %v", err)
	}
	return buf.Bytes()
}

// keyOf is an idempotency key as the delivery makes them: 32 hex digits that
// belong to the article, whatever its revision.
func keyOf(a *article.Article) string {
	sum := sha256.Sum256([]byte("generation 1 of " + a.ID))
	return hex.EncodeToString(sum[:16])
}
