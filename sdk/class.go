package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/quoinhq/quoin/namespaces"
)

// Class gives methods to the results of verbs, such as session.poll(): objects that name
// something by one of their fields. Programs find the methods on the result. JSON and
// copies of it have the data alone. A result that is a list has them on its items.
type Class struct {
	// Name is what declarations and messages call such a result: a JavaScript
	// identifier, such as "Session".
	Name string
	// Key is the field that tells one result from another, such as "sessionId". A
	// result without it has no methods.
	Key string
	// Methods are the methods by their names. The first argument of each is the key
	// of the result, so the first name of Positional is the name of the field it goes
	// to. A method without Positional and Map takes an object with other fields, as
	// after Positional(Key).Options().
	Methods map[string]*VerbRef
}

// class makes what the namespaces package knows as a class.
func (w *scopeWalk) class(c *Class) (*namespaces.Class, error) {
	if c == nil {
		return nil, nil
	}
	if made := w.classes[c]; made != nil {
		return made, nil
	}
	if w.classes == nil {
		w.classes = map[*Class]*namespaces.Class{}
	}
	made := &namespaces.Class{Name: c.Name, Key: c.Key, Methods: make(map[string]namespaces.Call, len(c.Methods))}
	w.classes[c] = made
	for _, name := range slices.Sorted(maps.Keys(c.Methods)) {
		call, err := w.verb(c.method(name), []string{c.Name, "prototype", name})
		if err != nil {
			return nil, err
		}
		made.Methods[name] = call
	}
	return made, nil
}

// names is the class without what its methods do, for checks.
func (c *Class) names() *namespaces.Class {
	if c == nil {
		return nil
	}
	of := &namespaces.Class{Name: c.Name, Key: c.Key, Methods: make(map[string]namespaces.Call, len(c.Methods))}
	for name := range c.Methods {
		of.Methods[name] = namespaces.Call{}
	}
	return of
}

// method returns a method with a place for the key.
func (c *Class) method(name string) *VerbRef {
	v := c.Methods[name]
	if v == nil || v.mapper != nil || len(v.positional) > 0 || v.rest != "" {
		return v
	}
	own := *v
	own.positional, own.options = []string{c.Key}, true
	return &own
}

// Template is a template literal that stands after the name of a verb, such as
// Shell.sh`grep ${word} *.md`.
type Template struct {
	// Strings are the texts around the values, one more than there are values. An
	// escape that JavaScript does not know leaves its text empty.
	Strings []string `json:"strings"`
	// Raw are the same texts as they are written in the program, escapes and all.
	Raw []string `json:"raw"`
	// Values are the values, as JSON; undefined is null.
	Values []json.RawMessage `json:"-"`
}

// Template makes the verb a tag of template literals: f turns one into the input, in the
// plugin. A call with parentheses is refused. It excludes what Map excludes.
func (v *VerbRef) Template(f func(ctx context.Context, rc RunContext, t Template) (any, error)) *VerbRef {
	v.template = true
	return v.Map(func(ctx context.Context, rc RunContext, args []json.RawMessage) (any, error) {
		t, err := readTemplate(args)
		if err != nil {
			return nil, err
		}
		return f(ctx, rc, t)
	})
}

// readTemplate reads the arguments of a tag. They come from a guest.
func readTemplate(args []json.RawMessage) (Template, error) {
	var t Template
	usage := func(why string) (Template, error) {
		return Template{}, Errorf("not_a_template", "%s: write the verb in front of a template literal, without parentheses", why)
	}
	if len(args) == 0 {
		return usage("there is no template")
	}
	if err := json.Unmarshal(args[0], &t); err != nil {
		return usage("the first argument is no template")
	}
	t.Values = args[1:]
	if t.Raw == nil {
		t.Raw = t.Strings
	}
	if n := len(t.Values) + 1; len(t.Strings) != n || len(t.Raw) != n {
		return usage(fmt.Sprintf("%d values do not fit %d texts", len(t.Values), len(t.Strings)))
	}
	return t, nil
}
