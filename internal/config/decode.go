package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"go.yaml.in/yaml/v3"

	"herald/platforms"
)

// Decode puts a target's own keys into the adapter's configuration struct, a
// pointer to which is into. It is strict: an unknown key and a value of the
// wrong type are faults. A key of type [platforms.Secret] may be given as a file
// by its twin key_file, whose relative path starts from base. At last it calls
// into's Validate() error, if there is one. All faults are joined.
func Decode(options map[string]any, base string, into any) error {
	l := newLoader("", base, nil)
	copied, _ := plain(options).(map[string]any)
	l.options("", copied, into)
	return l.faults.err()
}

// options is Decode for the section of the configuration at path. An unknown key
// may have been meant to be one of near.
func (l *loader) options(path string, options map[string]any, into any, near ...string) {
	typ := reflect.TypeOf(into).Elem()
	known := keys(typ)
	l.strict(path, "", options, known, near...)
	l.secrets(path, typ, options)
	l.decode(path, options, into)
	checked, ok := into.(interface{ Validate() error })
	if !ok {
		return
	}
	var whole []string // faults of no one key
	for _, err := range leafErrors(checked.Validate()) {
		key, text, cut := strings.Cut(err.Error(), ": ")
		if cut && slices.Contains(sections(known), key) {
			l.faults.add(join(path, key), "%s", text)
		} else {
			whole = append(whole, err.Error())
		}
	}
	if len(whole) > 0 {
		l.faults.add(path, "%s", strings.Join(whole, "; "))
	}
}

// leafErrors takes joined errors apart.
func leafErrors(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, leafErrors(e)...)
	}
	return all
}

// field is one key of a configuration struct.
type field struct {
	name  string
	typ   reflect.Type
	index []int
}

// fields returns what a struct takes; squashed structs are flattened.
func fields(typ reflect.Type) []field {
	var all []field
	for f := range typ.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("mapstructure"), ",")
		switch {
		case option == "squash":
			for _, sub := range fields(f.Type) {
				sub.index = append(slices.Clone(f.Index), sub.index...)
				all = append(all, sub)
			}
		case name == "-" || option == "remain" || !f.IsExported():
		default:
			if name == "" {
				name = strings.ToLower(f.Name)
			}
			all = append(all, field{name, f.Type, f.Index})
		}
	}
	return all
}

// keys returns the dotted key of every value that a struct takes, in the order
// of its fields. The elements of a list of sections are written list[].key; a
// secret is followed by its twin.
func keys(typ reflect.Type) []string {
	var all []string
	for _, f := range fields(typ) {
		sub, list := section(f.typ)
		if sub == nil {
			all = append(all, f.name)
			if hasTwin(typ, f) {
				all = append(all, f.name+"_file")
			}
			continue
		}
		prefix := f.name + "."
		if list {
			prefix = f.name + "[]."
		}
		for _, k := range keys(sub) {
			all = append(all, prefix+k)
		}
	}
	return all
}

// section returns the struct that a value of typ is decoded into: typ itself,
// what it points to, or the element of a list. It is nil for a plain value.
func section(typ reflect.Type) (sub reflect.Type, list bool) {
	if typ.Kind() == reflect.Slice {
		typ, list = typ.Elem(), true
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() {
		return nil, false
	}
	return typ, list
}

// hasTwin reports whether the field f of typ can be given as a file. A struct
// with a key of that name of its own has no twin.
func hasTwin(typ reflect.Type, f field) bool {
	return f.typ == reflect.TypeFor[platforms.Secret]() &&
		!slices.ContainsFunc(fields(typ), func(o field) bool { return o.name == f.name+"_file" })
}

// strict removes from m, which stands at path, what known does not name, and
// what is a plain value where a section belongs. at is the place of m among the
// known keys; near are further keys that an unknown one may have been meant to be.
func (l *loader) strict(path, at string, m map[string]any, known []string, near ...string) {
	all := sections(known)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		key, place, value := join(path, name), join(at, name), m[name]
		ok := true
		switch {
		case value == nil: // an empty key says nothing
			delete(m, name)
		case slices.Contains(known, place):
		case slices.Contains(all, place):
			var sub map[string]any
			if sub, ok = value.(map[string]any); ok {
				l.strict(key, place, sub, known)
			} else {
				l.faults.add(key, "a value stands where keys belong; write %s: { %s: … }", name, inside(place+".", known))
			}
		case slices.Contains(all, place+"[]"):
			ok = l.strictList(key, place+"[]", value, known)
		default:
			ok = false
			l.faults.unknown(key, hint(place, key, slices.Concat(known, near)))
		}
		if !ok {
			delete(m, name)
		}
	}
}

// strictList is strict for each section of a list.
func (l *loader) strictList(path, at string, value any, known []string) bool {
	list, ok := value.([]any)
	for i, e := range list {
		sub, isMap := e.(map[string]any)
		if isMap {
			l.strict(element(path, i), at, sub, known)
		}
		ok = ok && isMap
	}
	if !ok {
		_, name := split(path)
		l.faults.add(path, "a list of keys belongs here; write %s: [ { %s: … } ]", name, inside(at+".", known))
	}
	return ok
}

// inside returns the first key of a section, as an example.
func inside(section string, known []string) string {
	for _, k := range known {
		if rest, ok := strings.CutPrefix(k, section); ok {
			first, _, _ := strings.Cut(rest, ".")
			return strings.TrimSuffix(first, "[]")
		}
	}
	return "key"
}

// decode puts m into the struct that into points to. Values that do not fit are
// faults and leave what was there.
func (l *loader) decode(path string, m map[string]any, into any) {
	dec, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result:     into,
		DecodeHook: mapstructure.DecodeHookFuncValue(convert),
		MatchName:  func(key, field string) bool { return key == strings.ToLower(field) },
	})
	if err == nil {
		err = dec.Decode(m)
	}
	for _, err := range leafErrors(err) {
		key := ""
		if e, ok := errors.AsType[*mapstructure.DecodeError](err); ok {
			key, err = e.Name(), e.Unwrap()
		}
		l.faults.add(join(path, key), "%v", err)
	}
}

// convert is the decode hook: it makes a value of the type that is wanted, or
// says what is wrong and how to write it. It guesses nothing: 0123 would be read
// as 83, and 10 as a duration has no unit.
func convert(from, to reflect.Value) (any, error) {
	value := from.Interface()
	if from.Type() == to.Type() {
		return value, nil
	}
	text, isText := value.(string)
	switch {
	case to.Type() == reflect.TypeFor[time.Duration]():
		return duration(value)
	case to.Type() == reflect.TypeFor[fs.FileMode]():
		return mode(text)
	case to.CanInt(), to.CanUint():
		return whole(text, from, to)
	case to.Kind() == reflect.String:
		if !isText {
			return nil, errors.New("not a text; put the value in quotes")
		}
	case to.Kind() == reflect.Bool:
		if b, err := strconv.ParseBool(text); err == nil {
			return b, nil
		}
		if from.Kind() != reflect.Bool {
			return nil, errors.New("neither true nor false")
		}
	case to.CanFloat():
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f, nil
		}
		if !from.CanInt() && !from.CanFloat() {
			return nil, errors.New("not a number")
		}
	case to.Kind() == reflect.Slice:
		return list(value, to)
	case to.Kind() == reflect.Map && isText:
		return mapping(text)
	}
	return value, nil
}

// mapping reads keys from a text, as the environment gives them.
func mapping(text string) (any, error) {
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil || m == nil { // the error quotes the text
		return nil, errors.New("not keys; write it like { key: value }")
	}
	return m, nil
}

// whole reads a whole number, also from a text, as the environment gives it.
func whole(text string, from, to reflect.Value) (any, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		if !from.CanInt() {
			return nil, errors.New("not a whole number")
		}
		n = from.Int()
	}
	if n < 0 && to.CanUint() {
		return nil, errors.New("negative")
	}
	if to.CanInt() && to.OverflowInt(n) || to.CanUint() && to.OverflowUint(uint64(n)) {
		return nil, errors.New("too large")
	}
	return n, nil
}

// mode reads permission bits. They must be a text: YAML reads 0660 as octal and
// 660 as decimal.
func mode(text string) (any, error) {
	bits, err := strconv.ParseUint(text, 8, 32)
	if err != nil || bits > 0o777 {
		return nil, errors.New(`not permission bits; write octal digits in quotes, such as "0660"`)
	}
	return fs.FileMode(bits), nil
}

// duration reads Go's syntax. A bare number has no unit, except 0.
func duration(value any) (any, error) {
	text := fmt.Sprint(value)
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return nil, fmt.Errorf("%s has no unit; write %[1]ss, %[1]sm or %[1]sh", text)
	}
	if days, err := strconv.Atoi(strings.TrimSuffix(text, "d")); err == nil {
		return nil, fmt.Errorf("%q: days are no unit; write %dh", text, 24*days)
	}
	if _, isText := value.(string); isText {
		return nil, fmt.Errorf("%q is not a duration; write it like 2s, 10m or 72h", text)
	}
	return nil, errors.New("not a duration; write it like 2s, 10m or 72h")
}

// list reads a comma list, or a list as it is.
func list(value any, to reflect.Value) (any, error) {
	text, isText := value.(string)
	if !isText {
		if reflect.TypeOf(value).Kind() != reflect.Slice {
			return nil, errors.New("not a list; write it like [ one, two ]")
		}
		return value, nil
	}
	if to.Type().Elem().Kind() != reflect.String {
		return nil, errors.New("a text stands where a list belongs")
	}
	parts := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts, nil
}
