package main

import (
	"strings"
	"testing"
)

func TestTheDemoHealsBeforeYourEyes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	r := p.want(0, "demo", "--sick-for", "1s")
	if !strings.Contains(r.out, "posts: wechat 5, xiaohongshu 5, weibo 5") {
		t.Errorf("not every article is once where it belongs:\n%s", r.out)
	}
	if !strings.Contains(r.out, "partial_success") && !strings.Contains(r.out, "publishing") {
		t.Errorf("the sick platform was not seen:\n%s", r.out)
	}
}
