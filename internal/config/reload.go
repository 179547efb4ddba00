package config

import (
	"maps"
	"reflect"
	"slices"
	"sync"
)

// Change is what a reload did.
type Change struct {
	Config  *Config  // in force now
	Applied []string // keys whose new value is in force
	Restart []string // keys whose new value needs a restart
}

// Reloader keeps the configuration in force. It is safe for concurrent use.
type Reloader struct {
	mu      sync.Mutex
	current *Config
}

// NewReloader starts with c in force.
func NewReloader(c *Config) *Reloader { return &Reloader{current: c} }

// Config returns the configuration in force.
func (r *Reloader) Config() *Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// Reload reads file and environment again. The timeout and the pace, retry,
// lookup, review, probe and breaker values of targets that were there before come
// into force; all else that changed is named in Restart and waits for one. If
// anything is not valid, the old configuration stays in force as a whole.
func (r *Reloader) Reload() (Change, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.current
	next, err := old.again()
	if err != nil {
		return Change{Config: old}, err
	}
	current := *old
	current.Warnings = next.Warnings
	current.Targets = slices.Clone(old.Targets)
	for i, t := range current.Targets {
		if n := next.target(t.Name); n != nil && n.Type == t.Type {
			n := *n
			n.Enabled, n.Concurrency, n.Options = t.Enabled, t.Concurrency, t.Options
			current.Targets[i] = n
		}
	}
	r.current = &current
	return Change{Config: &current, Applied: differences(old, &current), Restart: differences(&current, next)}, nil
}

// again loads what c was loaded from.
func (c *Config) again() (*Config, error) {
	if c.File == "" {
		return load(nil, "", "", c.Base, c.adapters)
	}
	return read(c.File, c.name, c.adapters)
}

func (c *Config) target(name string) *Target {
	if i := slices.IndexFunc(c.Targets, func(t Target) bool { return t.Name == name }); i >= 0 {
		return &c.Targets[i]
	}
	return nil
}

// differences names the keys in which two configurations differ. A target that
// only one of them has is named as a whole.
func differences(a, b *Config) []string {
	keys := changed("", reflect.ValueOf(*a), reflect.ValueOf(*b))
	for _, t := range a.Targets {
		path := join("targets", t.Name)
		other := b.target(t.Name)
		if other == nil {
			keys = append(keys, path)
			continue
		}
		keys = append(keys, changed(path, reflect.ValueOf(t), reflect.ValueOf(*other))...)
		keys = append(keys, changedOptions(path, a, b, t, *other)...)
	}
	for _, t := range b.Targets {
		if a.target(t.Name) == nil {
			keys = append(keys, join("targets", t.Name))
		}
	}
	return keys
}

// changed compares the fields of two structs of one type.
func changed(path string, a, b reflect.Value) []string {
	var keys []string
	for _, f := range fields(a.Type()) {
		key, x, y := join(path, f.name), a.FieldByIndex(f.index), b.FieldByIndex(f.index)
		if f.typ.Kind() == reflect.Struct {
			keys = append(keys, changed(key, x, y)...)
		} else if !reflect.DeepEqual(x.Interface(), y.Interface()) {
			keys = append(keys, key)
		}
	}
	return keys
}

// changedOptions compares the adapter's keys: where both were checked as the
// adapter reads them, so that a new secret in an old file is seen.
func changedOptions(path string, a, b *Config, t, u Target) []string {
	x, y := reflect.ValueOf(a.options[t.Name]), reflect.ValueOf(b.options[u.Name])
	if x.IsValid() && y.IsValid() && x.Type() == y.Type() {
		return changed(path, x.Elem(), y.Elem())
	}
	all := maps.Clone(t.Options)
	maps.Copy(all, u.Options)
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !reflect.DeepEqual(t.Options[key], u.Options[key]) {
			keys = append(keys, join(path, key))
		}
	}
	return keys
}
