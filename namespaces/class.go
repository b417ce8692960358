package namespaces

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/quoinhq/quoin/internal/jsonschema"
)

// Class gives methods to results of calls: objects that name something by one
// of their fields. A guest finds the methods on the result, not enumerable, so
// that copies and JSON have the data alone. A method's call has the value of
// the key as its first argument, and the arguments of the guest after it.
type Class struct {
	// Name is what declarations and messages call such a result: an identifier.
	Name string
	// Key is the field that tells one result from another.
	Key string
	// Methods are the calls by their names. Each has a mapping with a place for
	// the key: MapPositional or MapFunction.
	Methods map[string]Call
}

// methodSegment stands between the name of a class and the name of a method in
// a path. No key of a scope is called so.
const methodSegment = "prototype"

// IsMethod reports whether a path that resolves leads to a method of a class: its name,
// "prototype" and the name of the method. The first argument of the call is then the key
// of the result that the method was called on.
func IsMethod(path []string) bool { return len(path) == 3 && path[1] == methodSegment }

// Classes returns the classes of the results of a scope's calls, in the order of their
// names. Do not modify them.
func (s *Scope) Classes() iter.Seq[*Class] {
	return func(yield func(*Class) bool) {
		if s == nil {
			return
		}
		for _, c := range s.classes {
			if !yield(c) {
				return
			}
		}
	}
}

// class returns the class with a name, or nil.
func (s *Scope) class(name string) *Class {
	if s == nil {
		return nil
	}
	i, found := slices.BinarySearchFunc(s.classes, name, func(c *Class, name string) int {
		switch {
		case c.Name < name:
			return -1
		case c.Name > name:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return s.classes[i]
}

// newScope makes a scope of a finished tree.
func newScope(root *node) *Scope {
	found := map[string]*Class{}
	var gather func(_ *trail, c *Call) error
	gather = func(_ *trail, c *Call) error {
		class := c.Returns
		if class == nil || found[class.Name] != nil {
			return nil
		}
		found[class.Name] = class
		for _, method := range class.Methods {
			_ = gather(nil, &method) // never fails
		}
		return nil
	}
	_ = root.eachCall(nil, gather) // never fails
	s := &Scope{root: root}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		s.classes = append(s.classes, found[name])
	}
	return s
}

// check refuses classes that could not be told apart, or with methods that would
// hide what a guest expects of any object.
func (c *Class) check() error {
	switch {
	case !IsIdentifier(c.Name) || len(c.Name) > maxNameBytes:
		return badClass(c, "needs a name that is a JavaScript identifier")
	case checkKey(c.Key, nil) != nil || len(c.Key) > maxNameBytes:
		return badClass(c, "needs a key: the field of its results that tells them apart")
	case len(c.Methods) == 0:
		return badClass(c, "has no methods")
	case len(c.Methods) > maxFields:
		return badClass(c, "has too many methods")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Methods)) {
		if err := c.checkMethod(name); err != nil {
			return err
		}
	}
	return nil
}

// checkMethod checks the name and the mapping of one method.
func (c *Class) checkMethod(name string) error {
	m := c.Methods[name]
	switch {
	case !IsIdentifier(name) || len(name) > maxNameBytes:
		return badClass(c, "has the method "+quoteName(name)+", which is no JavaScript identifier")
	case reservedNames[name] == becausePrototype:
		return badClass(c, "has the method "+quoteName(name)+", which "+becausePrototype)
	case name == c.Key:
		return badClass(c, "has a method "+quoteName(name)+" like its key")
	case m.Template:
		return badClass(c, "has the method "+quoteName(name)+", which cannot be a tag of templates")
	case m.Mapping.Kind == MapDefault, m.Mapping.Kind == MapPositional && len(m.Mapping.Positional) == 0:
		return badClass(c, "has the method "+quoteName(name)+" without a place for the key; let the first positional field have it")
	}
	return nil
}

func badClass(c *Class, why string) error {
	return &Error{Code: InvalidClass, Message: "class " + quoteName(c.Name) + " " + why}
}

// Check reports whether a call fits its tool: inputs that the mapping makes, as
// [Mapping.Check] does, and results, if they are to have methods. Results must have the
// class's key, and no field like one of its methods, which would hide the method. Check
// accepts what a schema leaves open; of a list, the items count. A failure of the results is
// InvalidClass.
func (c Call) Check(parameters, output json.RawMessage) error {
	if err := c.Mapping.Check(parameters); err != nil || c.Returns == nil {
		return err
	}
	doc := jsonschema.Parse(output)
	if doc == nil {
		return nil
	}
	schema := doc.Root()
	if c.ReturnsIn != "" {
		whole := readProperties(doc, schema)
		if schema = whole.properties[c.ReturnsIn]; schema == nil && whole.knows(c.ReturnsIn) {
			return nil
		} else if schema == nil {
			return badClass(c.Returns, "is that of the field "+quoteName(c.ReturnsIn)+" of results, which the tool's output schema does not have")
		}
	}
	if items := schema.Get("items"); items != nil {
		schema = items
	}
	return c.Returns.fits(readProperties(doc, schema))
}

// fits reports results that cannot be of the class.
func (c *Class) fits(results *inputs) error {
	if !results.knows(c.Key) {
		return badClass(c, "has the key "+quoteName(c.Key)+", which the tool's output schema does not have")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Methods)) {
		if _, named := results.properties[name]; named {
			return badClass(c, "has the method "+quoteName(name)+", but the tool's output schema has a field of that name")
		}
	}
	return nil
}

// encode appends the encoded class; call says how calls are written.
func (c *Class) encode(dst []byte, call func(*Call, []byte) []byte) []byte {
	dst = append(dst, classKey...)
	dst = appendString(dst, c.Key)
	dst = append(dst, classMethods...)
	for i, name := range slices.Sorted(maps.Keys(c.Methods)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		method := c.Methods[name]
		dst = append(appendString(dst, name), ':')
		dst = call(&method, dst)
	}
	return append(dst, classClose...)
}

// class checks a class and counts it, but for its methods.
func (b *builder) class(c *Class) error {
	if err := c.check(); err != nil {
		return err
	}
	const separators = len(`:,`)
	size := len(appendString(nil, c.Name)) + separators + len(classKey) + len(appendString(nil, c.Key)) + len(classMethods) + len(classClose)
	for name := range c.Methods {
		size += len(appendString(nil, name)) + separators
	}
	size -= len(`,`) // of the last method
	if b.classes++; b.classes == 1 {
		size += len(classesOpen) + len(classesClose) - len(`,`)
	}
	return b.enter((*trail)(nil).child(c.Name), 2, size)
}

// method makes a method of a class.
func (b *builder) method(class, name string, m Call) (Call, error) {
	n, err := b.call(m, (*trail)(nil).child(class).child(methodSegment).child(name), 3)
	if err != nil {
		return Call{}, err
	}
	return *n.call, nil
}

// classSet makes the classes of a scope that is being serialised out of those that
// were given, which may be several of one content.
type classSet struct {
	made  map[*Class]*Class // by what was given
	named map[string]*Class // by name
	texts map[string]string // by name, encoded
}
