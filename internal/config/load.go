package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// The keys of the file. A name cannot come from the environment, since it says
// which variables are a target's.
var (
	globalKeys = keys(reflect.TypeFor[Config]())
	targetKeys = keys(reflect.TypeFor[Target]())
	// sharedKeys are those that the section of defaults takes.
	sharedKeys = slices.DeleteFunc(slices.Clone(targetKeys), func(k string) bool {
		return k == "name" || k == "type" || k == "enabled"
	})
)

// fileKeys returns the keys of the whole file, but for what is in a target.
func fileKeys() []string {
	all := slices.Clone(globalKeys)
	for _, k := range sharedKeys {
		all = append(all, "defaults."+k)
	}
	return append(all, "targets")
}

const (
	envPrefix = "HERALD_"
	envConfig = "HERALD_CONFIG" // names the file; read by the command line
)

// loader carries one Load.
type loader struct {
	base     string
	adapters map[string]Adapter
	faults   faults
	warnings []string
	vars     []string       // every variable that has a meaning
	shared   map[string]any // what the section of defaults says, by dotted key
}

func newLoader(name, base string, adapters map[string]Adapter) *loader {
	return &loader{
		base: base, adapters: adapters,
		faults: faults{file: name, lines: map[string]int{}, env: map[string]string{}, alias: map[string]string{}},
	}
}

func (l *loader) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

// path makes a path of the configuration absolute.
func (l *loader) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(l.base, p)
}

// variable returns the name of the variable for a key.
func variable(key string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_", "[", "_", "]", "").Replace(key))
}

// environment returns the variable that sets key, and whether it is set. An
// empty one is not, so that a container may pass on what it was not given.
func (l *loader) environment(key string) (value string, ok bool) {
	name := variable(key)
	l.vars = append(l.vars, name)
	value = os.Getenv(name)
	if value != "" {
		l.faults.env[key] = name
	}
	return value, value != ""
}

// layer lays the environment over m, and m over the built-in values. Every key
// is made known to viper by a default: without one it would ignore the
// environment in silence.
func (l *loader) layer(path string, m map[string]any, known []string, builtin func(key string) any) map[string]any {
	v := viper.New()
	for _, key := range known {
		v.SetDefault(key, builtin(key))
		if _, ok := l.environment(join(path, key)); ok {
			_ = v.BindEnv(key, variable(join(path, key))) // errs only without a name
		}
	}
	_ = v.MergeConfigMap(m) // errs never: it is read already
	return v.AllSettings()
}

// lists are the global keys that hold a list of sections, and the built-in value
// of such a section.
var lists = map[string]any{
	"quality.providers": defaultProvider(),
	"notify":            Channel{},
}

// global fills cfg from what is neither a target nor a default of targets.
func (l *loader) global(cfg *Config, tree map[string]any) {
	taken := map[string][]any{}
	for _, key := range slices.Sorted(maps.Keys(lists)) {
		taken[key] = l.list(tree, key, reflect.ValueOf(lists[key]))
	}
	builtin := reflect.ValueOf(defaultConfig())
	settings := l.layer("", tree, slices.DeleteFunc(slices.Clone(globalKeys), inList), func(key string) any { return value(builtin, key) })
	for key, list := range taken {
		if len(list) > 0 {
			store(settings, key, list)
		}
	}
	l.secrets("", reflect.TypeFor[Config](), settings)
	l.decode("", settings, cfg)
}

// list takes a list of sections out of the tree, since viper cannot lay variables
// over the elements of a list, and does that itself. A number behind the last
// element adds one.
func (l *loader) list(tree map[string]any, path string, builtin reflect.Value) []any {
	found, _ := lookup(tree, path)
	list, _ := found.([]any)
	drop(tree, path)
	for i := 0; ; i++ {
		elem := map[string]any{}
		if i < len(list) {
			elem = list[i].(map[string]any)
		}
		for _, k := range keys(builtin.Type()) {
			if v, ok := l.environment(join(element(path, i), k)); ok {
				elem[k] = v
			}
		}
		if i >= len(list) {
			if len(elem) == 0 {
				return list
			}
			list = append(list, elem)
		}
		for _, f := range fields(builtin.Type()) {
			if standard := builtin.FieldByIndex(f.index); elem[f.name] == nil && !standard.IsZero() {
				elem[f.name] = standard.Interface()
			}
		}
	}
}

// drop removes a dotted key from nested maps.
func drop(m map[string]any, key string) {
	section, rest, nested := strings.Cut(key, ".")
	if !nested {
		delete(m, section)
		return
	}
	if sub, ok := m[section].(map[string]any); ok {
		drop(sub, rest)
	}
}

// inList reports whether a key belongs to the elements of a list.
func inList(key string) bool { return strings.Contains(key, "[]") }

// value returns what a struct holds at a dotted key.
func value(of reflect.Value, key string) any {
	first, rest, nested := strings.Cut(key, ".")
	for _, f := range fields(of.Type()) {
		switch {
		case f.name != first:
		case nested:
			return value(of.FieldByIndex(f.index), rest)
		default:
			return of.FieldByIndex(f.index).Interface()
		}
	}
	return nil
}

// lookup returns what stands at a dotted key of nested maps.
func lookup(m map[string]any, key string) (any, bool) {
	section, rest, nested := strings.Cut(key, ".")
	v, ok := m[section]
	if !nested {
		return v, ok
	}
	sub, _ := v.(map[string]any)
	return lookup(sub, rest)
}

// store puts a value at a dotted key of nested maps.
func store(m map[string]any, key string, v any) {
	section, rest, nested := strings.Cut(key, ".")
	if !nested {
		m[section] = v
		return
	}
	sub, ok := m[section].(map[string]any)
	if !ok {
		sub = map[string]any{}
		m[section] = sub
	}
	store(sub, rest, v)
}

// unknownEnvironment warns of variables that look like settings and are none.
func (l *loader) unknownEnvironment() {
	for _, setting := range slices.Sorted(slices.Values(os.Environ())) {
		name, value, _ := strings.Cut(setting, "=")
		if !strings.HasPrefix(name, envPrefix) || value == "" || name == envConfig || slices.Contains(l.vars, name) {
			continue
		}
		if near := Nearest(name, l.vars); near != "" {
			l.warn("%s is set but is no setting; did you mean %s?", name, near)
		} else {
			l.warn("%s is set but is no setting; see config.example.yaml for the keys", name)
		}
	}
}
