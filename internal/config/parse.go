package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parse reads one YAML document and remembers the line of every key. It returns
// nil after a fault that leaves nothing to go on with. viper reads YAML too, but
// knows no lines, lower-cases every key and lets a duplicate pass.
func (l *loader) parse(data []byte) map[string]any {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return map[string]any{}
	} else if err != nil {
		l.yamlFault(err)
		return nil
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		l.faults.add("", "only one document is read; remove what follows the second ---")
		return nil
	}
	var value any
	err := doc.Decode(&value) // also refuses endless aliases, before lines follows them
	if err != nil {
		l.yamlFault(err)
		if _, partial := errors.AsType[*yaml.TypeError](err); !partial {
			return nil
		}
	}
	tree, ok := plain(value).(map[string]any)
	if !ok && value != nil {
		l.faults.add("", "the file is not a list of keys; begin with one, such as data_dir: ./herald-data")
		return nil
	}
	if tree == nil {
		tree = map[string]any{}
	}
	l.lines("", &doc)
	return tree
}

// lines notes where each key and each element is. Keys that come by merge (<<)
// are noted unless the mapping has its own.
func (l *loader) lines(path string, n *yaml.Node) {
	switch n.Kind {
	case yaml.DocumentNode:
		l.lines(path, n.Content[0])
	case yaml.AliasNode:
		l.lines(path, n.Alias)
	case yaml.SequenceNode:
		for i, c := range n.Content {
			at := element(path, i)
			l.note(at, c.Line)
			l.lines(at, c)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if key.Value == "<<" {
				defer l.lines(path, value)
				continue
			}
			at := join(path, key.Value)
			l.note(at, key.Line)
			l.lines(at, value)
		}
	}
}

func (l *loader) note(key string, line int) {
	if _, ok := l.faults.lines[key]; !ok {
		l.faults.lines[key] = line
	}
}

// plain returns a copy of a decoded YAML value in which every mapping is a
// map[string]any.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = plain(e)
		}
		return m
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[fmt.Sprint(k)] = plain(e)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plain(e)
		}
		return list
	}
	return v
}

var (
	yamlLine  = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	yamlValue = regexp.MustCompile("`[^`]*`")
)

// yamlFault records what the YAML package says, with its line in our form and
// without the values it quotes, since one may be a secret.
func (l *loader) yamlFault(err error) {
	texts := []string{err.Error()}
	if e, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = e.Errors
	}
	for _, text := range texts {
		text = yamlValue.ReplaceAllString(text, "a value")
		if strings.Contains(text, "tab character") || strings.Contains(text, "cannot start any token") {
			text += "; indent with spaces, and quote a value that begins with a special character"
		}
		line := 0
		if m := yamlLine.FindStringSubmatch(text); m != nil {
			line, _ = strconv.Atoi(m[1])
			text = fmt.Sprintf("%s:%d: %s", l.faults.file, line, m[2])
		} else {
			text = l.faults.file + ": " + strings.TrimPrefix(text, "yaml: ")
		}
		l.faults.list = append(l.faults.list, fault{line: line, text: text})
	}
}
