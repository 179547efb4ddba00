package config

import (
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"herald/platforms"
)

const redacted = "[redacted]"

// Redacted returns the effective configuration as YAML. Secrets are redacted,
// and so are the parts of URLs that often hold one. Of a target that was not
// checked (it is disabled, or its type is not known) every value of the adapter
// is redacted, since any may be a secret.
func (c *Config) Redacted() string {
	root := describe(reflect.ValueOf(*c))
	targets := &yaml.Node{Kind: yaml.SequenceNode}
	for _, t := range c.Targets {
		node := describe(reflect.ValueOf(t))
		node.Style = 0
		node.Content = append(node.Content, c.own(t).Content...)
		targets.Content = append(targets.Content, node)
	}
	root.Content = append(root.Content, scalar("targets"), targets)
	source := c.File
	if source == "" {
		source = "no file: built-in defaults and environment"
	}
	out, err := yaml.Marshal(root)
	if err != nil {
		return fmt.Sprintf("# %s\n# %v\n", source, err)
	}
	return "# " + source + "\n" + string(out)
}

// own describes the keys of the target's adapter that have a value.
func (c *Config) own(t Target) *yaml.Node {
	node := &yaml.Node{}
	if checked, ok := c.options[t.Name]; ok {
		v := reflect.ValueOf(checked).Elem()
		for _, f := range fields(v.Type()) {
			if value := v.FieldByIndex(f.index); !value.IsZero() {
				node.Content = append(node.Content, scalar(f.name), describe(value))
			}
		}
		return node
	}
	for _, key := range slices.Sorted(maps.Keys(t.Options)) {
		node.Content = append(node.Content, scalar(key), scalar(redacted))
	}
	return node
}

// describe makes a YAML node of a configured value. A section that holds only
// plain values takes one line.
func describe(v reflect.Value) *yaml.Node {
	switch value := v.Interface().(type) {
	case time.Duration:
		return scalar(short(value))
	case fs.FileMode:
		return scalar(fmt.Sprintf("%04o", value))
	case platforms.Secret:
		return scalar(value.String())
	case string:
		return scalar(hide(value))
	}
	switch v.Kind() {
	case reflect.Struct:
		node := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, f := range fields(v.Type()) {
			value := describe(v.FieldByIndex(f.index))
			if value.Kind != yaml.ScalarNode {
				node.Style = 0
			}
			node.Content = append(node.Content, scalar(f.name), value)
		}
		return node
	case reflect.Slice:
		node := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for i := range v.Len() {
			node.Content = append(node.Content, describe(v.Index(i)))
		}
		return node
	case reflect.Map:
		node := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), byText) {
			node.Content = append(node.Content, describe(key), describe(v.MapIndex(key)))
		}
		return node
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return describe(v.Elem())
		}
	}
	return scalar(v.Interface())
}

func byText(a, b reflect.Value) int {
	return strings.Compare(fmt.Sprint(a.Interface()), fmt.Sprint(b.Interface()))
}

// scalar makes a node of a plain value, quoted where YAML wants it.
func scalar(value any) *yaml.Node {
	node := &yaml.Node{}
	if err := node.Encode(value); err != nil {
		node.SetString(err.Error())
	}
	return node
}

// hide redacts the user and the query of an http address: both are places where
// tokens are put. User names of other schemes, as in ssh://git@host, are none.
func hide(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User == nil && u.RawQuery == "" {
		return text
	}
	_, password := u.User.Password()
	if u.User != nil && (password || strings.HasPrefix(u.Scheme, "http")) {
		u.User = url.User("redacted")
	}
	if u.RawQuery != "" {
		u.RawQuery = "redacted"
	}
	return u.String()
}
