package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

const targetExample = "- { name: blog, type: site, dir: ./site }"

// sharedSettings reads the section of defaults. It is checked on its own, since
// it would go unread where every target has its own values.
func (l *loader) sharedSettings(section any) {
	m, _ := section.(map[string]any)
	l.shared = map[string]any{}
	effective := map[string]any{}
	builtin := reflect.ValueOf(defaultTarget())
	for _, key := range sharedKeys {
		if v, ok := l.environment("defaults." + key); ok {
			l.shared[key] = v
		} else if v, ok := lookup(m, key); ok {
			l.shared[key] = v
		}
		store(effective, key, value(builtin, key))
	}
	for key, v := range l.shared {
		store(effective, key, v)
	}
	var t Target
	l.decode("defaults", effective, &t)
	l.checkTarget("defaults", t)
}

// targets fills the targets of cfg: the file's, or without a file the blog.
func (l *loader) targets(cfg *Config, section any) {
	list, isList := section.([]any)
	switch {
	case cfg.File == "" && section == nil:
		list = []any{map[string]any{"name": "blog", "type": "site", "dir": filepath.Join(cfg.DataDir, "site")}}
	case section != nil && !isList:
		l.faults.add("targets", "not a list; write %s", targetExample)
		return
	}
	if len(list) == 0 {
		l.faults.add("targets", "there is nothing to publish to; add a target such as %s", targetExample)
	}
	taken := map[string]bool{}
	for i, item := range list {
		path := element("targets", i)
		m, ok := item.(map[string]any)
		if !ok {
			l.faults.add(path, "not a target; write %s", targetExample)
			continue
		}
		if name := l.name(path, m["name"], taken); name != "" {
			path = l.rename(path, "targets."+name)
		}
		cfg.Targets = append(cfg.Targets, l.target(cfg, path, m))
	}
}

var targetName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// frontMatter are the keys of an article's front matter, which holds the
// targets' overrides under their names.
var frontMatter = []string{
	"title", "id", "author", "summary", "cover", "tags", "canonical_url", "platforms", "publish_at",
	"consistency", "allow_duplicate", "skip_if_late", "draft", "date", "checks_off",
}

// name checks a target's name and returns it, or empty if it is of no use.
// Names that the environment could not tell apart count as the same.
func (l *loader) name(path string, value any, taken map[string]bool) string {
	name, isText := value.(string)
	key, asVariable := path+".name", variable(name)
	switch {
	case value == nil || name == "" && isText:
		l.faults.add(key, "missing; give the target a short name such as blog")
	case !targetName.MatchString(name):
		l.faults.add(key, "%q is not a name; use lower-case letters, digits, - and _, with a letter or digit first", fmt.Sprint(value))
	case slices.Contains(frontMatter, name):
		l.faults.add(key, "%q is a key of an article's front matter; choose another name", name)
	case taken[asVariable]:
		l.faults.add(key, "%q is taken by a target above (- and _ count as the same); choose another name", name)
	default:
		taken[asVariable] = true
		return name
	}
	return ""
}

// rename gives the lines noted below one key to another and returns that.
func (l *loader) rename(from, to string) string {
	for key, line := range maps.Clone(l.faults.lines) {
		if rest, ok := strings.CutPrefix(key, from); ok && (rest == "" || rest[0] == '.') {
			l.faults.lines[to+rest] = line
		}
	}
	return to
}

// target reads the target m, called path in messages. Its own keys come first,
// then the section of defaults, the adapter's advice and the built-in values.
func (l *loader) target(cfg *Config, path string, m map[string]any) Target {
	options := map[string]any{}
	for key, v := range m {
		if !slices.Contains(sections(targetKeys), key) {
			options[key] = v
			delete(m, key)
		}
	}
	l.strict(path, "", m, targetKeys)

	kind, _ := m["type"].(string)
	if v, ok := l.environment(path + ".type"); ok {
		kind = v
	}
	builtin := defaultTarget()
	builtin.advise(l.adapters[kind].Advice)
	settings := l.layer(path, m, targetKeys[1:], func(key string) any {
		if v, ok := l.shared[key]; ok {
			return v
		}
		return value(reflect.ValueOf(builtin), key)
	})
	for _, key := range sharedKeys {
		if _, own := lookup(m, key); !own && l.faults.env[join(path, key)] == "" {
			l.faults.alias[join(path, key)] = "defaults." + key
		}
	}
	var t Target
	l.decode(path, settings, &t)
	l.checkTarget(path, t)
	t.Options = options
	l.adapterOptions(cfg, path, t)
	return t
}

// adapterOptions checks what belongs to the adapter. A disabled target is not
// checked: what it needs may not be there yet.
func (l *loader) adapterOptions(cfg *Config, path string, t Target) {
	adapter, known := l.adapters[t.Type]
	switch {
	case t.Type == "":
		l.faults.add(path+".type", "missing; say what the target is, such as type: site")
		return
	case !known:
		if l.adapters != nil {
			l.oneOf(path+".type", t.Type, slices.Sorted(maps.Keys(l.adapters))...)
		}
		return
	}
	typ := reflect.TypeOf(adapter.Config)
	for _, key := range slices.DeleteFunc(keys(typ), inList) {
		if v, ok := l.environment(join(path, key)); ok {
			store(t.Options, key, v)
		}
	}
	if !t.Enabled {
		return
	}
	into := reflect.New(typ).Interface()
	l.options(path, t.Options, into, targetKeys...)
	cfg.options[t.Name] = into
}
