package resvg

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// The module was made for JavaScript by wasm-bindgen. It knows JavaScript's
// objects by number only, and asks its host to make and read them: this file is
// as much of that host as resvg needs. The names carry hashes that change with
// the release.

// objects are what the module knows by number.
type objects struct {
	byNumber map[uint64]any
	next     uint64
}

// undefined is the first of four numbers with a fixed meaning; the others are
// null, true and false.
const undefined = 128

func (o *objects) add(v any) uint64 {
	if o.byNumber == nil {
		o.byNumber, o.next = map[uint64]any{}, undefined+4
	}
	o.next++
	o.byNumber[o.next] = v
	return o.next
}

func (o *objects) take(n uint64) any {
	v := o.byNumber[n]
	delete(o.byNumber, n)
	return v
}

// The objects beside strings, errors and []byte, which is a Uint8Array.
type (
	array    struct{ items []any }
	iterator struct{ rest []any }
	step     struct {
		value any
		done  bool
	}
	memory struct{}                 // the module's memory, its buffer, and an array over all of it
	view   struct{ at, len uint32 } // an array over a part of the memory
)

// bind gives the module the functions that it imports.
func (m *machine) bind(ctx context.Context) error {
	o := &m.objects
	host := m.runtime.NewHostModuleBuilder("wbg")
	for name, f := range map[string]any{
		"__wbindgen_memory":                                 func() uint32 { return uint32(o.add(memory{})) },
		"__wbg_buffer_12d079cc21e14bdb":                     func(uint32) uint32 { return uint32(o.add(memory{})) },
		"__wbindgen_object_drop_ref":                        func(n uint32) { o.take(uint64(n)) },
		"__wbg_new_16b304a2cfa7ff4a":                        func() uint32 { return uint32(o.add(&array{})) },
		"__wbg_values_839f3396d5aac002":                     m.values,
		"__wbg_next_196c84450b364254":                       m.next,
		"__wbg_done_298b57d23c0fc80c":                       m.done,
		"__wbg_value_d93c65011f51a456":                      m.value,
		"__wbg_push_a5b05aedc7234f9f":                       m.push,
		"__wbg_length_c20a40f15020d68a":                     m.length,
		"__wbg_set_a47bac70306a19a7":                        m.set,
		"__wbg_new_63b92bc8671ed464":                        m.newBytes,
		"__wbg_new_28c511d9baebfa89":                        m.newError,
		"__wbindgen_string_new":                             m.newString,
		"__wbindgen_string_get":                             m.getString,
		"__wbindgen_throw":                                  m.throw,
		"__wbg_newwithbyteoffsetandlength_aa4a17c33a06e5cb": func(_, at, n uint32) uint32 { return uint32(o.add(view{at, n})) },
		"__wbg_instanceof_Uint8Array_2b3bbecd033d19f6":      m.isBytes,
	} {
		host.NewFunctionBuilder().WithFunc(f).Export(name)
	}
	_, err := host.Instantiate(ctx)
	return err
}

func (m *machine) object(n uint32) any { return m.objects.byNumber[uint64(n)] }

func (m *machine) values(list uint32) uint32 {
	it := &iterator{}
	if a, ok := m.object(list).(*array); ok {
		it.rest = a.items
	}
	return uint32(m.objects.add(it))
}

func (m *machine) next(n uint32) uint32 {
	s := step{done: true}
	if it, ok := m.object(n).(*iterator); ok && len(it.rest) > 0 {
		s = step{value: it.rest[0]}
		it.rest = it.rest[1:]
	}
	return uint32(m.objects.add(s))
}

func (m *machine) done(n uint32) uint32 {
	if s, ok := m.object(n).(step); ok && !s.done {
		return 0
	}
	return 1
}

func (m *machine) value(n uint32) uint32 {
	s, _ := m.object(n).(step)
	return uint32(m.objects.add(s.value))
}

func (m *machine) push(list, n uint32) uint32 {
	a, ok := m.object(list).(*array)
	if !ok {
		return 0
	}
	a.items = append(a.items, m.object(n))
	return uint32(len(a.items))
}

func (m *machine) isBytes(n uint32) uint32 {
	if _, ok := m.object(n).([]byte); ok {
		return 1
	}
	return 0
}

func (m *machine) length(n uint32) uint32 {
	b, _ := m.object(n).([]byte)
	return uint32(len(b))
}

// set copies an array into the module's memory.
func (m *machine) set(target, source, at uint32) {
	b, isBytes := m.object(source).([]byte)
	if _, ok := m.object(target).(memory); !ok || !isBytes || !m.module.Memory().Write(at, b) {
		panic(errors.New("write outside of the memory"))
	}
}

// newBytes copies a view; an array over the whole memory is not copied.
func (m *machine) newBytes(n uint32) uint32 {
	v, ok := m.object(n).(view)
	if !ok {
		return uint32(m.objects.add(memory{}))
	}
	return uint32(m.objects.add(m.read(v.at, v.len)))
}

func (m *machine) newError(at, n uint32) uint32 {
	return uint32(m.objects.add(errors.New(string(m.read(at, n)))))
}

func (m *machine) newString(at, n uint32) uint32 {
	return uint32(m.objects.add(string(m.read(at, n))))
}

// getString writes where the string is and how long, twice zero if n is none.
func (m *machine) getString(ctx context.Context, result, n uint32) {
	var at uint64
	s, ok := m.object(n).(string)
	if ok {
		var err error
		if at, err = m.copyIn(ctx, []byte(s)); err != nil {
			panic(err)
		}
	}
	m.module.Memory().WriteUint32Le(result, uint32(at))
	m.module.Memory().WriteUint32Le(result+4, uint32(len(s)))
}

// throw ends the call: what panics in a function of the host is the error of the
// call into the module.
func (m *machine) throw(at, n uint32) { panic(errors.New(string(m.read(at, n)))) }

// read copies a part of the memory.
func (m *machine) read(at, n uint32) []byte {
	b, ok := m.module.Memory().Read(at, n)
	if !ok {
		panic(errors.New("read outside of the memory"))
	}
	return append([]byte(nil), b...)
}

// copyIn puts data into memory that the module will free.
func (m *machine) copyIn(ctx context.Context, data []byte) (uint64, error) {
	at, err := m.call(ctx, "__wbindgen_malloc", uint64(len(data)), 1)
	if err != nil {
		return 0, err
	}
	if !m.module.Memory().Write(uint32(at), data) {
		return 0, errors.New("no memory left")
	}
	return at, nil
}

// call calls a function of the module that has a plain result, or none.
func (m *machine) call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	f := m.module.ExportedFunction(name)
	if f == nil {
		return 0, fmt.Errorf("module has no function %s", name)
	}
	results, err := f.Call(ctx, args...)
	if err != nil || len(results) == 0 {
		return 0, err
	}
	return results[0], nil
}

// result calls a function of the module that returns a value or throws an
// error: it leaves value, error and whether it threw on the module's stack.
func (m *machine) result(ctx context.Context, name string, args ...uint64) (uint64, error) {
	const size = 16
	at, err := m.call(ctx, "__wbindgen_add_to_stack_pointer", api.EncodeI32(-size))
	if err != nil {
		return 0, err
	}
	if _, err := m.call(ctx, name, append([]uint64{at}, args...)...); err != nil {
		return 0, err
	}
	value, _ := m.module.Memory().ReadUint32Le(uint32(at))
	thrown, _ := m.module.Memory().ReadUint32Le(uint32(at) + 4)
	threw, _ := m.module.Memory().ReadUint32Le(uint32(at) + 8)
	if _, err := m.call(ctx, "__wbindgen_add_to_stack_pointer", size); err != nil {
		return 0, err
	}
	if threw == 0 {
		return uint64(value), nil
	}
	if err, ok := m.objects.take(uint64(thrown)).(error); ok {
		return 0, err
	}
	return 0, errors.New("unknown error")
}
