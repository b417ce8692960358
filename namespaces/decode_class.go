package namespaces

import (
	"fmt"
	"maps"
	"slices"
)

// classNamed returns the class with a name, which may be still to be read.
func (d *decoder) classNamed(name string, at *trail) (*Class, error) {
	if c := d.named[name]; c != nil {
		return c, nil
	}
	if len(d.named) == maxFields {
		return nil, malformed(at, fmt.Sprintf("a scope has at most %d classes", maxFields), nil)
	}
	if d.named == nil {
		d.named = map[string]*Class{}
	}
	d.named[name] = &Class{Name: name}
	return d.named[name], nil
}

// returns reads the name of the class of a call's results.
func (d *decoder) returns(at *trail) (*Class, error) {
	name, err := d.string(at)
	if err != nil {
		return nil, err
	}
	return d.classNamed(name, at)
}

// readClasses reads the classes of a scope.
func (d *decoder) readClasses(at *trail) error {
	if at != nil {
		return malformed(at, "only the root has classes", nil)
	}
	return d.fields(at, func(name string) error {
		c, err := d.classNamed(name, at)
		if err != nil {
			return err
		}
		if c.Methods != nil {
			return &Error{Code: DuplicateKey, Path: name, Message: "class " + quoteName(name) + " occurs twice"}
		}
		if err := d.readClass(c, at.child(name)); err != nil {
			return err
		}
		return d.builder.class(c)
	})
}

// readClass reads one class.
func (d *decoder) readClass(c *Class, at *trail) error {
	c.Methods = map[string]Call{}
	seen := map[string]bool{}
	return d.fields(at, func(field string) error {
		if seen[field] {
			return &Error{Code: DuplicateKey, Path: at.String(), Message: "class field " + quoteName(field) + " occurs twice at " + at.where()}
		}
		seen[field] = true
		switch field {
		case "key":
			var err error
			c.Key, err = d.string(at)
			return err
		case "methods":
			return d.fields(at, func(name string) error { return d.readMethod(c, name, at) })
		}
		return malformed(at, "a class has no field "+quoteName(field), nil)
	})
}

// readMethod reads one method of a class.
func (d *decoder) readMethod(c *Class, name string, at *trail) error {
	if _, twice := c.Methods[name]; twice {
		return &Error{Code: DuplicateKey, Path: at.String(), Message: "method " + quoteName(name) + " occurs twice at " + at.where()}
	}
	if len(c.Methods) == maxFields {
		return malformed(at, fmt.Sprintf("a class has at most %d methods", maxFields), nil)
	}
	n, err := d.node(at.child(methodSegment).child(name), 3)
	if err != nil {
		return err
	}
	if n.kind != callNode {
		return malformed(at, "a method must be a call", nil)
	}
	c.Methods[name] = *n.call
	return nil
}

// checkClasses finds a class that calls name and nothing defines.
func (d *decoder) checkClasses() error {
	for _, name := range slices.Sorted(maps.Keys(d.named)) {
		if d.named[name].Methods == nil {
			return malformed(nil, "no class is named "+quoteName(name), nil)
		}
	}
	return nil
}
