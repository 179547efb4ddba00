package scheduler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"herald/article"
	"herald/compensate"
)

// people drop, edit, replace and remove entries, at any moment, and remember what
// must still be somewhere.
type people struct {
	*rig
	serial int
	// kept are the contents that herald must not lose. What a person overwrites
	// while it lies in the queue is theirs to lose.
	kept map[string]bool
}

// content makes a new text, good or bad; each is another one.
func (p *people) content(draw *rapid.T) string {
	p.serial++
	mark := fmt.Sprintf("mark-%06d-", p.serial)
	switch rapid.IntRange(0, 5).Draw(draw, "content") {
	case 0:
		return mark + "without a title\n"
	case 1:
		return "---\ntitle: [broken\n# " + mark + "\n---\n\ntext\n"
	case 2: // the same text, only the routing differs
		return text("Same", "always the same") + "\n<!-- " + mark + " -->\n"
	case 3:
		return "---\ntitle: Same\nplatforms: [blog]\nnote: " + mark + "\n---\n\nalways the same\n"
	default:
		return text("T", mark)
	}
}

func (p *people) name(draw *rapid.T) string {
	return rapid.SampledFrom([]string{"a.md", "b.md", "c/index.md", "c/more.txt"}).Draw(draw, "name")
}

// write puts a text in the queue, in place or by a rename.
func (p *people) write(draw *rapid.T) {
	name, content := p.name(draw), p.content(draw)
	path := p.path(name)
	p.must(os.MkdirAll(filepath.Dir(path), 0o755))
	if old, err := os.ReadFile(path); err == nil { // overwritten by its owner
		delete(p.kept, string(old))
	}
	if rapid.Bool().Draw(draw, "in place") {
		p.must(os.WriteFile(path, []byte(content), 0o644))
	} else {
		p.must(os.WriteFile(path+".tmp", []byte(content), 0o644))
		p.must(os.Rename(path+".tmp", path))
	}
	p.kept[content] = true
}

// check looks for everything that must be there.
func (p *people) check(draw *rapid.T) {
	all := map[string]bool{}
	for _, content := range p.files() {
		all[content] = true
	}
	for content := range p.kept {
		if !all[content] {
			draw.Fatalf("this was dropped and is nowhere any more: %q\nfiles: %q\n%s", content, p.files(), p.log)
		}
	}
	for _, id := range p.articles() {
		a := p.article(id)
		for revision := range a.Sources {
			src, err := NewSources(p.dir, p.options.Location).Read(a, revision+1)
			if err != nil {
				draw.Fatalf("the source of %s, revision %d, cannot be read: %v", id, revision+1, err)
			}
			if revision+1 == a.Revision && src.Hash != a.Hash {
				draw.Fatalf("%s was admitted as another text than is stored", id)
			}
		}
	}
}

func TestNoByteThatWasDroppedIsEverLost(t *testing.T) {
	rapid.Check(t, func(draw *rapid.T) {
		p := &people{rig: newRig(t), kept: map[string]bool{}}
		// Something may happen, and the daemon may end, at every call.
		during := func(where string) error {
			switch rapid.IntRange(0, 7).Draw(draw, "during "+where) {
			case 0, 1:
				p.write(draw)
			case 2:
				return errCrash
			}
			return nil
		}
		crashing := &admitter{
			beforeRevision: func(*article.Article) { _ = during("revision") },
			admit: func(_ *article.Article, admit func() (compensate.Admission, error)) (compensate.Admission, error) {
				if err := during("before admitting"); err != nil {
					return compensate.Admission{}, err
				}
				adm, err := admit()
				if err == nil {
					err = during("after admitting")
				}
				return adm, err
			},
		}
		p.around(crashing)
		draw.Repeat(map[string]func(*rapid.T){
			"write": p.write,
			"look": func(draw *rapid.T) {
				p.renamed["a.md"] = rapid.Bool().Draw(draw, "renamed")
				p.look(p.options.Settle)
			},
			"remove": func(draw *rapid.T) {
				name := p.name(draw)
				if old, err := os.ReadFile(p.path(name)); err == nil {
					delete(p.kept, string(old))
					p.must(os.Remove(p.path(name)))
				}
			},
			"restart": func(*rapid.T) { p.around(crashing) },
			"":        p.check,
		})
		// In the end, when nobody writes any more, the queue is empty but for
		// what is no article.
		p.around(&admitter{})
		for range 3 {
			p.look(faultRest)
		}
		p.look(missingFor)
		p.check(draw)
		for name := range p.files() {
			if !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "c/more.txt") {
				draw.Fatalf("%s is still in the queue\n%s", name, p.log)
			}
		}
	})
}
