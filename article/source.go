package article

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// mainName is the Markdown file of a folder article.
const mainName = "index.md"

// source is an article's file, found but not yet read.
type source struct {
	file string // absolute
	dir  string // absolute; image references start here
	name string // of the file, in messages
	id   string // the identity unless the front matter has one
}

// locate finds the Markdown file of the article at p and refuses one that a
// symbolic link brings in from outside the queue.
func locate(p string, o Options) (source, error) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return source{}, fmt.Errorf("read article: %w", err)
	}
	name := o.Name
	if name == "" {
		name = filepath.Base(abs)
	}
	if err := staysInside(o.Root, abs, name); err != nil {
		return source{}, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return source{}, fmt.Errorf("read article: %w", err)
	}
	if info.IsDir() {
		return locateInFolder(abs, name, o.Root)
	}
	dir, base := filepath.Split(abs)
	dir = filepath.Clean(dir)
	id := Slug(strings.TrimSuffix(base, filepath.Ext(base)))
	if base == mainName && dir != o.Root {
		id = Slug(filepath.Base(dir))
	}
	return source{file: abs, dir: dir, name: name, id: id}, nil
}

func locateInFolder(dir, name, root string) (source, error) {
	base, err := mainFile(dir, name)
	if err != nil {
		return source{}, err
	}
	if path.Base(name) != base {
		name = path.Join(name, base)
	}
	s := source{file: filepath.Join(dir, base), dir: dir, name: name, id: Slug(filepath.Base(dir))}
	if _, ok := below(root, dir); !ok {
		root = dir
	}
	return s, staysInside(root, s.file, s.name)
}

// mainFile returns the name of the one Markdown file that a folder article is.
func mainFile(dir, name string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("read article folder: %w", err)
	}
	var found []string
	for _, e := range entries {
		n := e.Name()
		if n == mainName {
			return n, nil
		}
		if strings.EqualFold(filepath.Ext(n), ".md") && !strings.HasPrefix(n, ".") && !strings.HasPrefix(n, "_") {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", Problems{{
			File: name, Rule: "folder-empty", What: "the folder holds no Markdown file",
			Fix: "name the article's file " + mainName,
		}}
	default:
		return "", Problems{{
			File: name, Rule: "folder-ambiguous",
			What: fmt.Sprintf("the folder holds %d Markdown files: %s", len(found), strings.Join(found, ", ")),
			Fix:  "name the one that is the article " + mainName,
		}}
	}
}

// staysInside refuses a file that lies in root by its path but, through a
// symbolic link, not in fact. With an empty root nothing is refused.
func staysInside(root, file, name string) error {
	if _, ok := below(root, file); !ok {
		return nil
	}
	target, err := filepath.EvalSymlinks(file)
	if err != nil {
		return fmt.Errorf("read article: %w", err)
	}
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return fmt.Errorf("read queue folder: %w", err)
	}
	if _, ok := below(realRoot, target); ok {
		return nil
	}
	return Problems{{
		File: name, Rule: "symlink-outside",
		What: "it is a symbolic link to " + target + ", which is outside the queue folder",
		Fix:  "copy the article into the queue folder",
	}}
}

// below returns p relative to root if p is root or lies below it, by their
// names alone. Nothing lies below an empty root.
func below(root, p string) (rel string, ok bool) {
	if root == "" {
		return "", false
	}
	rel, err := filepath.Rel(root, p)
	return rel, err == nil && filepath.IsLocal(rel)
}

// read returns the file's text in UTF-8, without byte order mark and with "\n"
// at the end of lines. It never reads more than limit bytes.
func (s source) read(limit int64) (string, error) {
	// O_NONBLOCK: a named pipe in the queue must not stop the reader for ever.
	f, err := os.OpenFile(s.file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("read article: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read article: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", s.refuse(0, "not-regular", "it is not a regular file", "put the Markdown file itself into the queue")
	}
	if info.Size() > limit {
		return "", s.tooLarge(info.Size(), limit)
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", fmt.Errorf("read article: %w", err)
	}
	if n := int64(len(raw)); n > limit {
		return "", s.tooLarge(n, limit)
	}
	return s.decode(raw)
}

func (s source) refuse(line int, rule, what, fix string) error {
	return Problems{{File: s.name, Line: line, Rule: rule, What: what, Fix: fix}}
}

func (s source) tooLarge(size, limit int64) error {
	return s.refuse(0, "too-large",
		fmt.Sprintf("the text has %s, the limit is %s", humanize.IBytes(uint64(size)), humanize.IBytes(uint64(limit))),
		"split the article, and keep pictures in files of their own")
}

var lineEndings = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (s source) decode(raw []byte) (string, error) {
	raw = bytes.TrimPrefix(raw, []byte("\uFEFF"))
	if bytes.HasPrefix(raw, []byte("\xFF\xFE")) || bytes.HasPrefix(raw, []byte("\xFE\xFF")) {
		return "", s.refuse(1, "not-utf8", "the text is UTF-16, not UTF-8",
			"save it as UTF-8, or convert it: iconv -f UTF-16 -t UTF-8")
	}
	text := lineEndings.Replace(string(raw))
	if i := strings.IndexByte(text, 0); i >= 0 {
		return "", s.refuse(lineAt(text, i), "binary", "the file holds a zero byte: it is not text",
			"put a Markdown file here")
	}
	if i := invalidAt(text); i >= 0 {
		what := fmt.Sprintf("this line is not UTF-8 (byte 0x%02X)", text[i])
		fix := "save the file as UTF-8"
		if looksLikeGB18030(raw) {
			what += ", the file is probably GBK or GB18030"
			fix += ", or convert it: iconv -f GB18030 -t UTF-8"
		}
		return "", s.refuse(lineAt(text, i), "not-utf8", what, fix)
	}
	return text, nil
}

func lineAt(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }

// invalidAt returns the offset of the first byte that is not UTF-8, or -1.
func invalidAt(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// looksLikeGB18030 reports whether raw decodes as GB18030 and is not for the
// most part UTF-8, which often decodes as GB18030 by chance.
func looksLikeGB18030(raw []byte) bool {
	wide, broken := 0, 0
	for rest := raw; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			broken++
		} else if size > 1 {
			wide++
		}
		rest = rest[size:]
	}
	decoded, err := simplifiedchinese.GB18030.NewDecoder().Bytes(raw)
	return err == nil && broken > wide && !bytes.ContainsRune(decoded, utf8.RuneError)
}
