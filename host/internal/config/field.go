package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

type kind uint8

const (
	kindBool kind = iota
	kindInt
	kindText
	kindTexts
	kindObject
	kindMap
	kindList
	kindRaw
)

// Field is one setting. Make it with the function of its kind, such as Bool.
type Field struct {
	name, doc string
	kind      kind

	min, max int64             // kindInt
	choices  []string          // kindText, kindTexts: what may be given; empty means any text
	aliases  map[string]string // kindText: other words for a choice
	check    func(string) error
	nonEmpty bool

	fields    []Field                // kindObject
	switchOf  string                 // kindObject: the field that true or false alone stands for
	env       string                 // kindObject: replaces the path in environment names
	entry     func(key string) Field // kindMap; also what kindList has, by index
	item      func(i int) Field      // kindList
	keyName   string                 // kindMap: what the names of entries are
	checkKey  func(string) error     // kindMap
	onFirst   func()                 // kindMap, kindList: called before the first entry
	inherited bool                   // no default of its own

	get func() any
	set func(any)
}

// Bool is a field that is true or false.
func Bool(name string, dst *bool, doc string) Field {
	return Field{name: name, doc: doc, kind: kindBool, get: func() any { return *dst }, set: func(v any) { *dst = v.(bool) }}
}

// Int is an integer from min to max.
func Int[T ~int | ~int64](name string, dst *T, min, max int64, doc string) Field {
	return Field{
		name: name, doc: doc, kind: kindInt, min: min, max: max,
		get: func() any { return int64(*dst) }, set: func(v any) { *dst = T(v.(int64)) },
	}
}

// Duration is an integer of units from min to max. The field's name should say
// the unit.
func Duration(name string, dst *time.Duration, unit time.Duration, min, max int64, doc string) Field {
	return Field{
		name: name, doc: doc, kind: kindInt, min: min, max: max,
		get: func() any { return int64(*dst / unit) }, set: func(v any) { *dst = time.Duration(v.(int64)) * unit },
	}
}

// Text is any text.
func Text[T ~string](name string, dst *T, doc string) Field {
	return Field{
		name: name, doc: doc, kind: kindText,
		get: func() any { return string(*dst) }, set: func(v any) { *dst = T(v.(string)) },
	}
}

// Choice is one of a few words.
func Choice[T ~string](name string, dst *T, choices []T, doc string) Field {
	f := Text(name, dst, doc)
	for _, c := range choices {
		f.choices = append(f.choices, string(c))
	}
	return f
}

// Texts is a list of texts. An absent list stays nil; an empty one does not.
func Texts(name string, dst *[]string, doc string) Field {
	return Field{
		name: name, doc: doc, kind: kindTexts,
		get: func() any { return *dst }, set: func(v any) { *dst = v.([]string) },
	}
}

// Object is a group of fields.
func Object(name string, fields []Field, doc string) Field {
	return Field{name: name, doc: doc, kind: kindObject, fields: fields}
}

// Map is an object with field names of the user's own, such as ids. Entry returns the field
// that one entry is read as; it is called when there is such an entry, after all fields
// outside of maps have been read, and once with some name by each of Schema and Markdown.
func Map(name, keyName string, entry func(key string) Field, doc string) Field {
	return Field{name: name, doc: doc, kind: kindMap, keyName: keyName, entry: entry}
}

// List is a list of objects. Item returns the field that an element is read as;
// it is called like Map's entry, with rising indexes.
func List(name string, item func(i int) Field, doc string) Field {
	return Field{name: name, doc: doc, kind: kindList, item: item}
}

// Raw is any value that JSON can hold.
func Raw(name string, dst *json.RawMessage, doc string) Field {
	return Field{
		name: name, doc: doc, kind: kindRaw,
		get: func() any { return *dst }, set: func(v any) { *dst = v.(json.RawMessage) },
	}
}

// OneOf restricts the texts of a list to a few words, at least one of them.
func (f Field) OneOf(choices ...string) Field {
	f.choices, f.nonEmpty = choices, true
	return f
}

// Alias accepts another word for a choice.
func (f Field) Alias(word, choice string) Field {
	aliases := map[string]string{word: choice}
	for w, c := range f.aliases {
		aliases[w] = c
	}
	f.aliases = aliases
	return f
}

// Check restricts a text, or each text of a list. The error says what was
// expected, as in "an address such as :8080".
func (f Field) Check(check func(string) error) Field {
	f.check = check
	return f
}

// CheckKey restricts the names of a map's entries, as Check does texts.
func (f Field) CheckKey(check func(string) error) Field {
	f.checkKey = check
	return f
}

// Then has a function called whenever the field has been given a value.
func (f Field) Then(then func()) Field {
	set := f.set
	f.set = func(v any) { set(v); then() }
	return f
}

// OnFirst calls a function once, before the first entry of a map or list that is
// given, even of an empty one.
func (f Field) OnFirst(call func()) Field {
	f.onFirst = call
	return f
}

// Switch lets true or false stand for an object that has only the field of that
// name.
func (f Field) Switch(field string) Field {
	f.switchOf = field
	return f
}

// Env replaces the path of an object in the names of its fields' environment
// variables, after the table's prefix.
func (f Field) Env(name string) Field {
	f.env = name
	return f
}

// Inherited says that without a value the field, or each field of the object, has the value
// of another place, which doc names; the reference shows no default.
func (f Field) Inherited() Field {
	f.inherited = true
	f.fields = slices.Clone(f.fields)
	for i := range f.fields {
		f.fields[i] = f.fields[i].Inherited()
	}
	return f
}

// scalar reports whether the field has a value of its own that text can give.
func (f *Field) scalar() bool { return f.kind <= kindTexts }

// want says what the field takes, for errors and the reference.
func (f *Field) want() string {
	switch f.kind {
	case kindBool:
		return "true or false"
	case kindInt:
		return fmt.Sprintf("an integer from %d to %d", f.min, f.max)
	case kindText:
		if len(f.choices) > 0 {
			return "one of " + quotedList(f.choices)
		}
		return "a text"
	case kindTexts:
		switch {
		case len(f.choices) > 0:
			return "a list of one or more of " + quotedList(f.choices)
		default:
			return "a list of texts"
		}
	case kindObject:
		if f.switchOf != "" {
			return "true, false or an object"
		}
		return "an object"
	case kindMap:
		return "an object with one entry per " + f.keyName
	case kindList:
		return "a list of objects"
	default:
		return "a value that JSON can hold"
	}
}

// Table is a whole configuration.
type Table struct {
	Fields []Field
	// EnvPrefix starts the names of environment variables, as in "QUOIN_".
	EnvPrefix string
	// Strict are prefixes, after EnvPrefix, of variables that only this table
	// uses: Read warns of an unknown one.
	Strict []string
}
