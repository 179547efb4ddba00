package article

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
)

// foreignKeys are what Hugo, Hexo, Jekyll and Obsidian put into front matter.
// They mean nothing to herald and are no misspelling of a key of its own.
var foreignKeys = []string{
	"abstract", "alias", "aliases", "archived", "banner", "bibliography", "build", "cascade", "categories",
	"category", "code", "comment", "comments", "copyright", "created", "cssclass", "cssclasses", "description",
	"disablenunjucks", "excerpt", "excerpt_separator", "expirydate", "feature_image", "featured",
	"featured_image", "hidden", "icon", "image", "images", "iscjklanguage", "katex", "keywords", "lang",
	"language", "lastmod", "layout", "license", "linktitle", "locale", "markup", "math", "mathjax", "menu",
	"mermaid", "modified", "outputs", "params", "password", "permalink", "pin", "pinned", "published",
	"redirect_from", "resources", "robots", "series", "sitemap", "slug", "sticky", "subtitle", "template",
	"thumbnail", "toc", "top", "translationkey", "type", "uid", "updated", "url", "uuid", "weight",
}

// isTarget reports whether the field holds the overrides of a target. Without a
// list of targets every mapping does that is nothing else.
func (l *loader) isTarget(f field) bool {
	if l.opts.Targets != nil {
		return slices.Contains(l.opts.Targets, f.key)
	}
	return f.key != "" && f.node.Kind == yaml.MappingNode && !isForeign(f.key) && nearest(f.key, knownKeys) == ""
}

func isForeign(key string) bool { return slices.Contains(foreignKeys, strings.ToLower(key)) }

// otherKey answers a key that is not herald's: it refuses what looks like a
// misspelling, since an ignored platforms would publish everywhere, and passes
// the rest with a note.
func (l *loader) otherKey(line int, f field) {
	if strings.EqualFold(f.key, "published") && strings.EqualFold(f.node.Value, "false") {
		l.report(line, &Problem{
			Rule: "key-unknown", What: "published: false is not herald's and would be ignored",
			Fix: "write draft: true to hold the article",
		})
		return
	}
	if !isForeign(f.key) {
		names := slices.Concat(knownKeys, l.opts.Targets)
		if near := nearest(f.key, names); near != "" {
			l.report(line, &Problem{
				Rule: "key-unknown", What: fmt.Sprintf("unknown front matter key %q", f.key),
				Fix: fmt.Sprintf("did you mean %q?", near),
			})
			return
		}
	}
	l.note(line, "front matter key %q is not herald's and was ignored", f.key)
}

// nearest returns the name that key is a near miss of, or "".
func nearest(key string, names []string) string {
	key = fold(key)
	found, best := "", 3
	for _, name := range names {
		folded := fold(name)
		limit := 0
		switch n := utf8.RuneCountInString(folded); {
		case n >= 5:
			limit = 2
		case n == 4:
			limit = 1
		}
		if d := levenshtein.ComputeDistance(key, folded); d <= limit && d < best {
			found, best = name, d
		}
	}
	return found
}

// fold takes away what people write differently without meaning another name.
func fold(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}
