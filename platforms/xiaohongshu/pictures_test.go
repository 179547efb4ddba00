package xiaohongshu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"herald/article"
	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/xiaohongshu/xiaohongshutest"
)

func TestPicturesLieWhereTheInterfaceSeesThem(t *testing.T) {
	shared := t.TempDir()
	s := xiaohongshutest.New(xiaohongshutest.Options{ReadFile: func(path string) ([]byte, error) {
		rest, ok := strings.CutPrefix(path, "/app/images/")
		if !ok {
			return nil, os.ErrNotExist
		}
		return os.ReadFile(filepath.Join(shared, rest))
	}})
	c, err := New(Config{ImageDir: shared, ImageMount: "/app/images"}, platforms.Env{Dir: t.TempDir(), Transport: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Render(&article.Article{ID: "a", Title: "甲", Body: "文", Images: []article.Image{dot(t, t.TempDir())}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Publish(t.Context(), p, platformtest.NewMemo()); err != nil || len(s.Notes()[0].Images) != 1 {
		t.Errorf("notes %+v, %v", s.Notes(), err)
	}
}

func TestPicturesThatTheInterfaceDoesNotSeeAreSuspected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, xiaohongshutest.Options{ReadFile: func(string) ([]byte, error) { return nil, os.ErrNotExist }})
		_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
		if e := failed(t, err); e.Kind != platforms.Dependency || !strings.Contains(e.Message, "image_mount") {
			t.Errorf("got %+v, want dependency and a hint", e)
		}
	})
}

func TestAPictureThatCannotBeDecodedIsNamed(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	file := filepath.Join(t.TempDir(), "broken.png")
	if err := os.WriteFile(file, []byte("\x89PNG\r\n\x1a\nbroken"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.post(t, "甲")
	p.Images = []article.Image{{Ref: "broken.png", Path: file, Name: "broken.png"}}
	_, err := w.Publish(t.Context(), p, platformtest.NewMemo())
	if e := failed(t, err); e.Kind != platforms.Rejected || !strings.Contains(e.Message, "broken.png") || w.Calls(publish) != 0 {
		t.Errorf("got %+v, want rejected by name", e)
	}
}
