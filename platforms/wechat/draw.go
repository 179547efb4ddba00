package wechat

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"herald/article"
	"herald/article/dialect"
)

// drawTimeout is how long a command may take for one formula or diagram.
const drawTimeout = 20 * time.Second

// theme returns the look of this target; nil is dialect's own. CSS that cannot be
// read is tried again with the next article.
func (c *Client) theme() (*dialect.Theme, error) {
	if c.cfg.Theme == "" && c.cfg.CSSFile == "" {
		return nil, nil
	}
	c.looks.Lock()
	defer c.looks.Unlock()
	if c.look != nil {
		return c.look, nil
	}
	var css []byte
	if c.cfg.CSSFile != "" {
		var err error
		if css, err = os.ReadFile(c.cfg.CSSFile); err != nil {
			return nil, fmt.Errorf("read css_file: %w", err)
		}
	}
	look, err := dialect.NewTheme(c.cfg.Theme, string(css))
	if err != nil {
		return nil, fmt.Errorf("css_file: %w", err)
	}
	c.look = look
	return look, nil
}

// external returns what draws formulas and diagrams; nil without any command.
func (c *Client) external() func(kind, source string) (article.Image, error) {
	if len(c.cfg.MathCommand) == 0 && len(c.cfg.MermaidCommand) == 0 {
		return nil
	}
	return c.draw
}

// draw has a formula or a diagram drawn. The picture is kept under a name that
// follows from command and source, so that it is drawn once and is the same
// whenever the article is rendered.
func (c *Client) draw(kind, source string) (article.Image, error) {
	command := c.cfg.MathCommand
	if kind == dialect.KindMermaid {
		command = c.cfg.MermaidCommand
	}
	if len(command) == 0 {
		return article.Image{}, errors.New("no command is configured that draws it")
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{kind, source}, command...), "\x00")))
	name := kind + "-" + hex.EncodeToString(sum[:16])
	file := filepath.Join(c.dir, "drawn", name)
	picture, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		picture, err = run(command, kind, source)
		if err == nil {
			err = keep(file, picture)
		}
	}
	if err != nil {
		return article.Image{}, err
	}
	hash := sha256.Sum256(picture)
	mediaType := article.PictureType(picture)
	return article.Image{
		Ref: name, Path: file, Name: name + extension(mediaType), Type: mediaType, SHA256: hex.EncodeToString(hash[:]), Size: int64(len(picture)),
	}, nil
}

// extension is what browsers know a picture's type by.
func extension(mediaType string) string {
	return "." + strings.TrimSuffix(strings.TrimPrefix(mediaType, "image/"), "+xml")
}

// run gives a source to a command and returns the picture that it draws.
func run(command []string, kind, source string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), drawTimeout, fmt.Errorf("no picture in %s", drawTimeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second // for children that keep stdout open
	cmd.Env = append(os.Environ(), "HERALD_KIND="+kind)
	cmd.Stdin = strings.NewReader(source)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	picture, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", command[0], context.Cause(ctx))
	case err != nil:
		return nil, fmt.Errorf("%s: %s", command[0], cmp.Or(dialect.Cut(oneLine(complaint.String()), 200, dialect.Characters), err.Error()))
	case article.PictureType(picture) == "":
		return nil, fmt.Errorf("%s: its output is no picture", command[0])
	}
	return picture, nil
}

// keep writes a file of the target's own folder, whole or not at all.
func keep(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := renameio.WriteFile(file, content, 0o640); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}
