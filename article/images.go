package article

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/text/unicode/norm"
)

// assetsName is the folder of the queue that all articles may take images from.
const assetsName = "assets"

const fixOutside = "put the picture beside the article or into the queue's assets folder and name it relative to the article"

// resolver finds the files that image references of one article mean.
type resolver struct {
	dir, assets string // as named; assets is empty without a queue
	realDir     string // with symbolic links followed
	realAssets  string
	shownDir    string // in messages
	dirIsQueue  bool   // hidden folders of dir are no place for images
}

func newResolver(dir, root, name string) *resolver {
	r := &resolver{dir: dir, realDir: follow(dir), shownDir: path.Dir(filepath.ToSlash(name))}
	if root != "" {
		r.assets = filepath.Join(root, assetsName)
		r.realAssets = follow(r.assets)
		r.dirIsQueue = r.realDir == follow(root)
	}
	return r
}

// follow returns the real path of p, or p if there is nothing.
func follow(p string) string {
	if target, err := filepath.EvalSymlinks(p); err == nil {
		return target
	}
	return p
}

// resolve returns the image that ref means.
func (r *resolver) resolve(ref reference) (Image, *Problem) {
	im := Image{Ref: ref.ref, Alt: ref.alt}
	if ref.ref == "" {
		return im, &Problem{Rule: "image-empty", What: "an image names no file", Fix: "name the file or remove the image"}
	}
	switch scheme := schemeOf(ref.ref); scheme {
	case "http", "https":
		address, p := remoteAddress(unescape(ref.ref))
		im.URL = address
		return im, p
	case "data":
		return im, &Problem{
			Rule: "image-data", What: "image " + quote(ref.ref) + " holds its data in the text",
			Fix: "save the picture as a file beside the article and name that",
		}
	case "":
	default:
		return im, &Problem{
			Rule: "image-outside", What: fmt.Sprintf("image %s is an address with %s:, which is never read", quote(ref.ref), scheme),
			Fix: fixOutside,
		}
	}
	f, file, p := r.find(ref)
	if p != nil {
		return im, p
	}
	defer f.Close()
	im.Path = file
	return im, inspect(f, &im)
}

var (
	schemePattern = regexp.MustCompile(`^(?i)(?:(file|data|https?|ftp|blob|javascript):|([a-z][a-z0-9+.-]+)://)`)
	drivePattern  = regexp.MustCompile(`^[A-Za-z]:[\\/]`)
)

// schemeOf returns the scheme of an address in lower case, "" for a file name,
// which may hold a colon too.
func schemeOf(ref string) string {
	if m := schemePattern.FindStringSubmatch(ref); m != nil {
		return strings.ToLower(m[1] + m[2])
	}
	return ""
}

// place is where a reference may mean a file.
type place struct{ base, rel, shown string }

// find opens the first file that ref can mean.
func (r *resolver) find(ref reference) (*os.File, string, *Problem) {
	var looked []string
	for _, name := range candidates(ref.ref) {
		places, ok := r.places(name)
		if !ok {
			return nil, "", outside(ref.ref, "")
		}
		for _, pl := range places {
			f, p := r.open(pl, ref.ref)
			if f != nil || p != nil {
				return f, filepath.Join(pl.base, pl.rel), p
			}
			looked = append(looked, strconv.Quote(pl.shown))
		}
	}
	if ref.form == formEmbed && !strings.ContainsAny(ref.ref, `/\`) {
		for _, pl := range r.placesByBareName(ref.ref) {
			if f, p := r.open(pl, ref.ref); f != nil || p != nil {
				return f, filepath.Join(pl.base, pl.rel), p
			}
		}
	}
	return nil, "", r.missing(ref, slices.Compact(looked))
}

func outside(ref, why string) *Problem {
	return &Problem{
		Rule: "image-outside", Fix: fixOutside,
		What: "image " + quote(ref) + " is outside the article's folder" + why,
	}
}

func (r *resolver) missing(ref reference, looked []string) *Problem {
	p := &Problem{
		Rule: RuleImageMissing, Fix: "put the picture there or correct its name",
		What: fmt.Sprintf("image %s is not there; looked for %s", quote(ref.ref), strings.Join(looked, ", ")),
	}
	if ref.form == formEmbed && filepath.Ext(ref.ref) == "" {
		p.Fix = "only pictures can be embedded, not notes: replace it by a link or by the text"
	} else if similar := r.similar(ref.ref); similar != "" {
		p.Fix = fmt.Sprintf("there is %q: capital letters count", similar)
	}
	return p
}

// similar returns a file in the article's folder whose name differs from ref in
// capital letters only.
func (r *resolver) similar(ref string) string {
	rel := filepath.Clean(unescapePercent(ref))
	if !filepath.IsLocal(rel) {
		return ""
	}
	entries, err := os.ReadDir(filepath.Join(r.realDir, filepath.Dir(rel)))
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), filepath.Base(rel)) {
			return filepath.Join(filepath.Dir(rel), e.Name())
		}
	}
	return ""
}

// candidates returns the file names that a reference can mean, the literal one
// first: then with Markdown's escapes resolved, percent-decoded, without query
// or fragment, with "\" as separator, and in the other Unicode normal form,
// which macOS writes into archives.
func candidates(ref string) []string {
	var names []string
	add := func(name string) {
		if name != "" && !strings.Contains(name, "\x00") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	plain := unescape(ref)
	for _, name := range []string{ref, plain, unescapePercent(plain)} {
		add(name)
	}
	if i := strings.IndexAny(plain, "?#"); i > 0 {
		add(plain[:i])
		add(unescapePercent(plain[:i]))
	}
	for _, name := range slices.Clone(names) {
		add(strings.ReplaceAll(name, `\`, "/"))
	}
	for _, name := range slices.Clone(names) {
		add(norm.NFC.String(name))
		add(norm.NFD.String(name))
	}
	return names
}

var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescapePercent decodes percent escapes; what is none stays as it is.
func unescapePercent(s string) string {
	return percent.ReplaceAllStringFunc(s, func(esc string) string {
		n, err := strconv.ParseUint(esc[1:], 16, 8)
		if err != nil {
			return esc
		}
		return string([]byte{byte(n)})
	})
}

// places returns where to look for a file name; ok is false if it leads out of
// the folders that images may come from.
func (r *resolver) places(name string) (places []place, ok bool) {
	if drivePattern.MatchString(name) {
		return nil, false
	}
	rel := filepath.Clean(name)
	inAssets, fromFolder := strings.CutPrefix(rel, "../"+assetsName+"/")
	switch {
	case filepath.IsLocal(rel):
		if r.dirIsQueue && isHidden(rel) {
			return nil, false
		}
		places = append(places, place{r.dir, rel, path.Join(r.shownDir, rel)})
		inAssets = strings.TrimPrefix(rel, assetsName+"/")
	case !fromFolder || r.assets == "" || r.dirIsQueue:
		return nil, false
	}
	if r.assets != "" && filepath.IsLocal(inAssets) {
		places = append(places, place{r.assets, inAssets, path.Join(assetsName, inAssets)})
	}
	return places, true
}

// isHidden reports whether an element of the path begins with a dot.
func isHidden(rel string) bool {
	return slices.ContainsFunc(strings.Split(rel, "/"), func(e string) bool { return strings.HasPrefix(e, ".") && e != "." })
}

// maxDepth is how many folders deep a bare name is looked for.
const maxDepth = 4

// placesByBareName returns where below the article's folder and the assets a
// file has the name, as Obsidian finds what is embedded without its folder.
func (r *resolver) placesByBareName(name string) []place {
	var places []place
	for _, base := range []string{r.realDir, r.realAssets} {
		if base == "" {
			continue
		}
		// A folder that cannot be read is one where nothing is found.
		_ = filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
			if err != nil || p == base {
				return nil //nolint:nilerr // see above
			}
			rel, _ := below(base, p)
			if d.IsDir() {
				if strings.HasPrefix(d.Name(), ".") || strings.Count(rel, "/") >= maxDepth {
					return fs.SkipDir
				}
			} else if d.Name() == name {
				places = append(places, place{base, rel, rel})
			}
			return nil
		})
	}
	return places
}

// open opens the file at a place. Neither file nor problem means that there is
// none. Symbolic links are followed as long as they stay in the folders that
// images may come from; the file itself is opened through [os.Root], so that
// nobody can move it away in between.
func (r *resolver) open(pl place, ref string) (*os.File, *Problem) {
	file, err := filepath.EvalSymlinks(filepath.Join(pl.base, pl.rel))
	if err != nil {
		return nil, unreadable(ref, err)
	}
	base := r.realDir
	rel, ok := below(base, file)
	if ok && r.dirIsQueue && isHidden(rel) {
		ok = false
	}
	if !ok {
		base = r.realAssets
		if rel, ok = below(base, file); !ok {
			return nil, outside(ref, ": it is a symbolic link that leads out of it")
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, unreadable(ref, err)
	}
	defer root.Close()
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unreadable(ref, err)
	}
	return f, nil
}

// unreadable returns the problem of a file that is there but cannot be opened.
// Any other error means that there is no such file.
func unreadable(ref string, err error) *Problem {
	if !errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return &Problem{
		Rule: "image-unreadable", What: "image " + quote(ref) + " may not be read by herald",
		Fix: "give the user that herald runs as the right to read it",
	}
}

// Open opens a local image. The content is checked against SHA256, so that what
// is published is what was checked.
func (im Image) Open() (io.ReadCloser, error) {
	if im.Path == "" {
		return nil, fmt.Errorf("open image %s: it is not a local file", quote(im.Ref))
	}
	f, err := os.Open(im.Path)
	if err != nil {
		return nil, fmt.Errorf("open image: %w", err)
	}
	if im.SHA256 == "" {
		return f, nil
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, im.Size+1))
	if err != nil {
		return nil, fmt.Errorf("read image: %w", err)
	}
	if hexSHA256(content) != im.SHA256 {
		return nil, fmt.Errorf("open image %s: it has changed since the article was read", im.Path)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// quote returns a reference for a message, cut if it is long.
func quote(ref string) string {
	if short := truncate(ref, 80, 200); short != ref {
		ref = short + "…"
	}
	return strconv.Quote(ref)
}
