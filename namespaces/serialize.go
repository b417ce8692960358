package namespaces

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// Serialize turns what a CreateScope returned into a Scope: plain data with
// Call markers, or a *Scope, also in part. The root must become an object.
//
// Data follows encoding/json where it can: json struct tags with omitempty,
// omitzero and string, embedded structs, json.Marshaler (time.Time becomes an
// RFC 3339 string), encoding.TextMarshaler, []byte as base64, nil as null.
// Values JSON does not have become safe ones: NaN and the infinities null,
// integers beyond 2^53-1 decimal strings as BigInts do, complex numbers
// strings, channels and unsafe pointers null, errors {name, message}, invalid
// UTF-8 U+FFFD.
//
// It refuses with a typed *Error that names the place: functions, values that
// contain themselves (one value in two places is fine and is copied), unsafe
// keys, map keys without a text form, failing marshalers, and whatever exceeds
// the limits. It does not modify v, and nothing of v is shared afterwards.
func Serialize(v any, l Limits) (*Scope, error) {
	s := serializer{builder: newBuilder(l), open: map[visit]bool{}}
	root, err := s.value(reflect.ValueOf(v), nil, 1)
	if err != nil {
		return nil, err
	}
	if root.kind != objectNode {
		return nil, &Error{Code: ScopeNotObject, Message: fmt.Sprintf("a scope must be an object, not %T; return a map, a struct or a *Scope", v)}
	}
	return newScope(root), nil
}

// serializer walks Go values. Its recursion ends at Limits.Depth, or at
// pointers alone when a value is seen again inside itself.
type serializer struct {
	*builder
	open    map[visit]bool // what the walk is inside of
	classes classSet
}

// pointersPerLevel bounds chains of pointers, which add no level to the tree.
const pointersPerLevel = 8

// visit identifies a reference being walked; slices of one array that differ
// in length are different values.
type visit struct {
	kind    reflect.Type
	address uintptr
	length  int
}

var (
	callType          = reflect.TypeFor[Call]()
	scopeType         = reflect.TypeFor[Scope]()
	numberType        = reflect.TypeFor[json.Number]()
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	errorType         = reflect.TypeFor[error]()
)

// value builds the node of any value.
func (s *serializer) value(v reflect.Value, at *trail, level int) (*node, error) {
	if !v.IsValid() {
		return s.null(at, level)
	}
	switch v.Kind() {
	case reflect.Func:
		return nil, &Error{Code: RawFunction, Path: at.String(), Message: "the function at " + at.where() +
			" cannot enter a guest; put a call marker there, which names a tool"}
	case reflect.Interface:
		return s.value(v.Elem(), at, level)
	case reflect.Pointer:
		if v.IsNil() {
			return s.null(at, level)
		}
	}
	switch v.Type() {
	case callType:
		return s.callValue(v.Interface().(Call), at, level)
	case scopeType:
		scope := v.Interface().(Scope)
		return s.graft(scope.tree(), at, level)
	case numberType:
		return s.literal(v.String(), at, level)
	}
	if n, err, done := s.bySelf(v, at, level); done {
		return n, err
	}
	return s.byKind(v, at, level)
}

// callValue builds a callable, with the class of its results.
func (s *serializer) callValue(c Call, at *trail, level int) (*node, error) {
	if c.Returns != nil {
		class, err := s.class(c.Returns)
		if err != nil {
			return nil, err
		}
		c.Returns = class
	}
	return s.call(c, at, level)
}

// graft builds a copy of a node that another scope has.
func (s *serializer) graft(from *node, at *trail, level int) (*node, error) {
	switch from.kind {
	case valueNode:
		return s.scalar(from.value, at, level)
	case callNode:
		return s.callValue(*from.call, at, level)
	case arrayNode:
		n, err := s.array(at, level)
		for i := 0; err == nil && i < len(from.children); i++ {
			var c *node
			if c, err = s.graft(from.children[i], at.item(i), level+1); err == nil {
				err = s.item(n, c, at)
			}
		}
		return n, err
	}
	n, err := s.object(at, level)
	for i := 0; err == nil && i < len(from.children); i++ {
		if err = s.key(n, from.keys[i], at); err != nil {
			break
		}
		var c *node
		if c, err = s.graft(from.children[i], at.child(from.keys[i]), level+1); err == nil {
			n.entry(from.keys[i], c)
		}
	}
	return n, err
}

// bySelf lets a value that knows its own JSON or text form give it.
func (s *serializer) bySelf(v reflect.Value, at *trail, level int) (n *node, err error, done bool) {
	self := v
	if v.CanAddr() && v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
		if p := v.Addr(); p.Type().Implements(marshalerType) || p.Type().Implements(textMarshalerType) {
			self = p
		}
	}
	t := self.Type()
	if t.Kind() == reflect.Pointer && (t.Elem() == callType || t.Elem() == scopeType) || !self.CanInterface() {
		return nil, nil, false
	}
	switch {
	case t.Implements(marshalerType):
		n, err = s.marshaled(self, at, level)
	case t.Implements(textMarshalerType):
		var text string
		if text, err = marshalText(self, at); err == nil {
			n, err = s.text(text, at, level)
		}
	case t.Implements(errorType):
		n, err = s.errorValue(self, at, level)
	default:
		return nil, nil, false
	}
	return n, err, true
}

// byKind builds the node of a value by what it is made of.
func (s *serializer) byKind(v reflect.Value, at *trail, level int) (*node, error) {
	switch v.Kind() {
	case reflect.Bool:
		return s.scalar(strconv.AppendBool(nil, v.Bool()), at, level)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return s.scalar(number(strconv.FormatInt(v.Int(), 10)), at, level)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return s.scalar(number(strconv.FormatUint(v.Uint(), 10)), at, level)
	case reflect.Float32, reflect.Float64:
		return s.scalar(floatScalar(v), at, level)
	case reflect.Complex64, reflect.Complex128:
		return s.text(strconv.FormatComplex(v.Complex(), 'g', -1, v.Type().Bits()), at, level)
	case reflect.String:
		return s.text(v.String(), at, level)
	case reflect.Pointer:
		return s.inside(v, 0, at, func() (*node, error) { return s.value(v.Elem(), at, level) })
	case reflect.Map:
		if v.IsNil() {
			return s.null(at, level)
		}
		return s.inside(v, 0, at, func() (*node, error) { return s.mapValue(v, at, level) })
	case reflect.Struct:
		return s.structValue(v, at, level)
	case reflect.Slice:
		return s.sliceValue(v, at, level)
	case reflect.Array:
		return s.items(v, at, level)
	}
	return s.null(at, level) // channels and unsafe pointers
}

// inside runs build unless the reference v is being walked already.
func (s *serializer) inside(v reflect.Value, length int, at *trail, build func() (*node, error)) (*node, error) {
	key := visit{v.Type(), v.Pointer(), length}
	if s.open[key] {
		return nil, &Error{Code: Cycle, Path: at.String(), Message: "circular scope: the value at " + at.where() +
			" contains itself; give ids instead of back references"}
	}
	if len(s.open) > pointersPerLevel*s.limits.Depth {
		return nil, s.tooDeep(at)
	}
	s.open[key] = true
	defer delete(s.open, key)
	return build()
}

func (s *serializer) sliceValue(v reflect.Value, at *trail, level int) (*node, error) {
	if v.IsNil() {
		return s.null(at, level)
	}
	if elem := v.Type().Elem(); elem.Kind() == reflect.Uint8 && !knowsItself(elem) && !knowsItself(reflect.PointerTo(elem)) {
		if base64.StdEncoding.EncodedLen(v.Len()) > s.limits.Bytes {
			return nil, s.charge(at, base64.StdEncoding.EncodedLen(v.Len()))
		}
		return s.text(base64.StdEncoding.EncodeToString(v.Bytes()), at, level)
	}
	if v.Len() == 0 {
		return s.items(v, at, level)
	}
	return s.inside(v, v.Len(), at, func() (*node, error) { return s.items(v, at, level) })
}

// items builds the array of a slice or array.
func (s *serializer) items(v reflect.Value, at *trail, level int) (*node, error) {
	n, err := s.array(at, level)
	if err != nil {
		return nil, err
	}
	for i := range v.Len() {
		child, err := s.value(v.Index(i), at.item(i), level+1)
		if err != nil {
			return nil, err
		}
		if err := s.item(n, child, at); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// mapValue builds the object of a map, in order of keys.
func (s *serializer) mapValue(v reflect.Value, at *trail, level int) (*node, error) {
	n, err := s.object(at, level)
	if err != nil {
		return nil, err
	}
	entries, err := s.mapEntries(v, at)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := s.entry(n, e.key, e.value, at, level); err != nil {
			return nil, err
		}
	}
	return n, n.seal(at)
}

// structValue builds the object of a struct.
func (s *serializer) structValue(v reflect.Value, at *trail, level int) (*node, error) {
	n, err := s.object(at, level)
	if err != nil {
		return nil, err
	}
	for _, f := range fieldsOf(v.Type()) {
		value, ok := f.in(v)
		if !ok {
			continue
		}
		if f.quoted {
			value = quotedValue(value)
		}
		if err := s.entry(n, f.name, value, at, level); err != nil {
			return nil, err
		}
	}
	return n, n.seal(at)
}

// entry builds one entry of an object.
func (s *serializer) entry(n *node, key string, value reflect.Value, at *trail, level int) error {
	if err := s.key(n, key, at); err != nil {
		return err
	}
	child, err := s.value(value, at.child(key), level+1)
	if err != nil {
		return err
	}
	n.entry(key, child)
	return nil
}

func (s *serializer) null(at *trail, level int) (*node, error) {
	return s.scalar([]byte("null"), at, level)
}

// literal builds a number from a json.Number, which may hold anything.
func (s *serializer) literal(text string, at *trail, level int) (*node, error) {
	if !json.Valid([]byte(text)) || text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return s.text(text, at, level)
	}
	return s.scalar(number(text), at, level)
}

// marshaled builds the nodes of what a json.Marshaler wrote.
func (s *serializer) marshaled(v reflect.Value, at *trail, level int) (*node, error) {
	var data []byte
	err := recovered(at, func() (err error) {
		data, err = json.Marshal(v.Interface())
		return err
	})
	if err != nil {
		return nil, err
	}
	d := decoder{builder: s.builder, json: json.NewDecoder(bytes.NewReader(data))}
	d.json.UseNumber()
	return d.plain(at, level)
}

// errorValue builds what an error looks like in a guest.
func (s *serializer) errorValue(v reflect.Value, at *trail, level int) (*node, error) {
	var message string
	err := recovered(at, func() error {
		message = v.Interface().(error).Error()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.byKind(reflect.ValueOf(map[string]string{"name": "Error", "message": message}), at, level)
}

// marshalText asks an encoding.TextMarshaler for its text.
func marshalText(v reflect.Value, at *trail) (text string, err error) {
	err = recovered(at, func() error {
		data, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		text = string(data)
		return err
	})
	return text, err
}

// recovered runs code of the value's own type. The errors and panics of that
// code are the scope's errors.
func recovered(at *trail, run func() error) (err error) {
	failed := func(reason any, cause error) error {
		return &Error{Code: MarshalFailed, Path: at.String(), Err: cause,
			Message: fmt.Sprintf("the value at %s cannot be written as JSON: %v", at.where(), reason)}
	}
	defer func() {
		if p := recover(); p != nil {
			err = failed(p, nil)
		}
	}()
	if err := run(); err != nil {
		return failed(err, err)
	}
	return nil
}

func knowsItself(t reflect.Type) bool {
	return t.Implements(marshalerType) || t.Implements(textMarshalerType)
}

// floatScalar writes a float so that it stays one: a literal without point or
// exponent would be taken for an integer too large for JavaScript, though
// every float is a JavaScript number.
func floatScalar(v reflect.Value) []byte {
	data := floatJSON(v)
	if math.Abs(v.Float()) > maxSafeInteger && !bytes.ContainsAny(data, ".en") {
		data = append(data, ".0"...)
	}
	return data
}

// floatJSON writes a float as JSON, null if it is not finite.
func floatJSON(v reflect.Value) []byte {
	data, err := json.Marshal(v.Convert(floatType(v.Type())).Interface())
	if err != nil {
		return []byte("null") // NaN and the infinities are the only failures
	}
	return data
}

func floatType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Float32 {
		return reflect.TypeFor[float32]()
	}
	return reflect.TypeFor[float64]()
}

// class returns the scope's own copy of a class.
func (s *serializer) class(given *Class) (*Class, error) {
	if made := s.classes.made[given]; made != nil {
		return made, nil
	}
	if s.classes.made == nil {
		s.classes = classSet{map[*Class]*Class{}, map[string]*Class{}, map[string]string{}}
	}
	encoded := string(given.encode(nil, (*Call).encodeCanonical))
	if same := s.classes.named[given.Name]; same != nil && s.classes.texts[given.Name] != encoded {
		return nil, badClass(given, "is there twice, with different methods; name one of them otherwise")
	} else if same != nil {
		s.classes.made[given] = same
		return same, s.returned(given, same)
	}
	if err := s.builder.class(given); err != nil {
		return nil, err
	}
	made := &Class{Name: given.Name, Key: given.Key, Methods: make(map[string]Call, len(given.Methods))}
	s.classes.made[given], s.classes.named[made.Name], s.classes.texts[made.Name] = made, made, encoded
	for _, name := range slices.Sorted(maps.Keys(given.Methods)) {
		method, err := s.method(made.Name, name, given.Methods[name])
		if err != nil {
			return nil, err
		}
		made.Methods[name] = method
	}
	return made, s.returned(given, made)
}

// returned makes the classes of the results of a class's methods.
func (s *serializer) returned(given, made *Class) error {
	for name, m := range given.Methods {
		if m.Returns == nil {
			continue
		}
		class, err := s.class(m.Returns)
		if err != nil {
			return err
		}
		own := made.Methods[name]
		own.Returns = class
		made.Methods[name] = own
	}
	return nil
}
