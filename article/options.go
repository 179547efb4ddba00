package article

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
)

// DecodeOptions puts Options into the struct that into points to, by its
// mapstructure tags. A key that the struct lacks and a value of the wrong type are
// faults; all of them are joined.
func (a *Article) DecodeOptions(into any) error {
	var known []string
	for f := range reflect.TypeOf(into).Elem().Fields() {
		known = append(known, f.Tag.Get("mapstructure"))
	}
	var faults []error
	values := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(a.Options)) {
		switch near := nearest(key, known); {
		case slices.Contains(known, key):
			values[key] = a.Options[key]
		case near != "":
			faults = append(faults, fmt.Errorf("unknown key %q; did you mean %q?", key, near))
		default:
			faults = append(faults, fmt.Errorf("unknown key %q; there are %s", key, strings.Join(known, ", ")))
		}
	}
	if err := mapstructure.Decode(values, into); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}
