package wechattest

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // what the platform can decode
	_ "image/jpeg" // what the platform can decode
	_ "image/png"  // what the platform can decode
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	maxBodyImage = 1 << 20  // uploadimg takes less than that, in bytes
	maxMaterial  = 10 << 20 // bytes
	// imageHost is where the platform serves pictures from.
	imageHost = "http://mmbiz.qpic.cn/"
)

// Image is a picture that was uploaded.
type Image struct {
	Name    string // of the file, as sent
	Type    string // by content
	Size    int    // bytes
	URL     string
	MediaID string // of permanent material
	At      time.Time
}

// Images returns what was uploaded for bodies, Material the permanent pictures,
// both in no particular order.
func (s *Server) Images() []Image { return s.pictures(s.images) }

// Material returns the permanent pictures.
func (s *Server) Material() []Image { return s.pictures(s.material) }

func (s *Server) pictures(from map[string]Image) []Image {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Image
	for _, im := range from {
		all = append(all, im)
	}
	return all
}

// Uploads counts the pictures that were uploaded, copies included.
func (s *Server) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uploads
}

// ForgetMaterial deletes all permanent pictures, as a person may do by hand.
func (s *Server) ForgetMaterial() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.material)
}

// part reads the file of an upload.
func (c *call) part() (Image, []byte, error) {
	file, header, err := c.FormFile("media")
	if err != nil || header.Filename == "" {
		return Image{}, nil, fail(codeNoMedia)
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return Image{}, nil, fail(codeNoMedia)
	}
	return Image{Name: header.Filename, Type: http.DetectContentType(data), Size: len(data), At: c.now}, data, nil
}

// check refuses what is no picture of the types.
func check(im Image, data []byte, types ...string) error {
	if len(data) == 0 {
		return fail(codeImageSize)
	}
	if !slices.Contains(types, im.Type) {
		return fail(codeFileType)
	}
	if _, _, err := image.DecodeConfig(bytes.NewReader(data)); err != nil && im.Type != "image/bmp" {
		return fail(codeImageFormat)
	}
	return nil
}

func (s *Server) uploadImage(c *call) (any, error) {
	im, data, err := c.part()
	if err != nil {
		return nil, err
	}
	if err := check(im, data, "image/jpeg", "image/png"); err != nil {
		return nil, err
	}
	if im.Size >= maxBodyImage {
		return nil, fail(codeImageSize)
	}
	im.URL = s.imageURL(im)
	s.images[im.URL] = im
	s.uploads++
	return struct {
		URL string `json:"url"`
		ok
	}{im.URL, done}, nil
}

func (s *Server) imageURL(im Image) string {
	kind := strings.TrimPrefix(im.Type, "image/")
	return fmt.Sprintf("%ssz_mmbiz_%s/%s/0?wx_fmt=%s", imageHost, kind, s.id("p"), kind)
}

func (s *Server) addMaterial(c *call) (any, error) {
	if c.URL.Query().Get("type") != "image" {
		return nil, fail(codeMediaType)
	}
	im, data, err := c.part()
	if err != nil {
		return nil, err
	}
	if err := check(im, data, "image/jpeg", "image/png", "image/gif", "image/bmp"); err != nil {
		return nil, err
	}
	switch {
	case im.Size > maxMaterial:
		return nil, fail(codeFileTooLarge)
	case len(s.material) >= s.options.Library:
		return nil, fail(codeLibraryFull)
	}
	im.MediaID, im.URL = s.id("m"), s.imageURL(im)
	s.material[im.MediaID] = im
	s.uploads++
	return map[string]string{"media_id": im.MediaID, "url": im.URL}, nil
}

// knows reports whether drafts may use a permanent picture.
func (s *Server) knows(mediaID string, now time.Time) bool {
	im, ok := s.material[mediaID]
	return ok && !now.Before(im.At.Add(s.options.MediaDelay))
}
