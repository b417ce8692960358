package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/text"
)

// fields are the members of a request's body. Each reader records what is wrong and
// returns the zero value, so that a caller learns of all mistakes at once. Call
// problem when you have read every member.
type fields struct {
	at      string // the path to the object, with a dot at its end; "" for the body
	members map[string]json.RawMessage
	known   []string // the members that were read
	wrong   []FieldError
}

// decodeFields takes a JSON object apart. It refuses a member that is given twice:
// two readers of the same body could each see another value.
func decodeFields(b []byte) (*fields, *Problem) {
	if !utf8.Valid(b) {
		return nil, invalid("body", "it is not UTF-8", "a JSON object in UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte("\ufeff"))))
	t, err := dec.Token()
	if err != nil || t != json.Delim('{') {
		return nil, invalid("body", notJSON(err, "it is something else"), "a JSON object")
	}
	f := &fields{members: make(map[string]json.RawMessage)}
	for dec.More() {
		key, err := dec.Token()
		name, _ := key.(string) // a decoder gives no other token here
		var v json.RawMessage
		if err == nil {
			err = dec.Decode(&v)
		}
		if err != nil {
			return nil, invalid("body", notJSON(err, ""), "a JSON object")
		}
		if _, twice := f.members[name]; twice {
			return nil, invalid(shown(name), "it is given twice", "each member once")
		}
		f.members[name] = v
	}
	if _, err := dec.Token(); err != nil {
		return nil, invalid("body", notJSON(err, ""), "a JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid("body", "something follows the JSON object", "one JSON object")
	}
	return f, nil
}

// notJSON describes why a body is not JSON; otherwise says it when err is nil.
func notJSON(err error, otherwise string) string {
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return otherwise
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not JSON at byte %d: %v", syntax.Offset, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	}
	return err.Error()
}

// shown makes a name of the caller's fit for a message.
func shown(name string) string { return text.Shorten(name, 64+len("…")) }

// fail records what is wrong with a member.
func (f *fields) fail(name, detail, expected string) {
	f.wrong = append(f.wrong, FieldError{f.at + name, detail, expected})
}

// raw returns a member as it is, or nil when it is left out. Null is left out.
func (f *fields) raw(name string) json.RawMessage {
	f.known = append(f.known, name)
	if raw := f.members[name]; string(raw) != "null" {
		return raw
	}
	return nil
}

// text returns a member that is a string, or "" when it is left out.
func (f *fields) text(name string) string {
	var s string
	if raw := f.raw(name); raw != nil && json.Unmarshal(raw, &s) != nil {
		f.fail(name, "it is "+kind(raw), "a string")
	} else if jsontext.HasLoneSurrogate(raw) {
		f.fail(name, "it holds half of a surrogate pair, such as \\ud83d alone, which is no character", "a string of whole characters")
	}
	return s
}

// required returns the text of a member that must not be left out or blank.
func (f *fields) required(name, expected string) string {
	wrong := len(f.wrong)
	s := strings.TrimSpace(f.text(name))
	if s == "" && len(f.wrong) == wrong {
		f.fail(name, "it is missing", expected)
	}
	return s
}

// millis returns a member that is a time in whole milliseconds above zero, or
// zero when it is left out.
func (f *fields) millis(name string) time.Duration {
	const most = 24 * 60 * 60 * 1000
	raw := f.raw(name)
	if raw == nil {
		return 0
	}
	var n int64
	if err := json.Unmarshal(raw, &n); err != nil || n < 1 || n > most {
		f.fail(name, "it is "+shown(string(raw)), fmt.Sprintf("a whole number of milliseconds from 1 to %d", most))
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// flag returns a member that is true or false. It is false when left out.
func (f *fields) flag(name string) bool {
	var b bool
	if raw := f.raw(name); raw != nil && json.Unmarshal(raw, &b) != nil {
		f.fail(name, "it is "+kind(raw), "true or false")
	}
	return b
}

// texts returns a member that is a list of strings.
func (f *fields) texts(name string) []string {
	var list []string
	if raw := f.raw(name); raw != nil && json.Unmarshal(raw, &list) != nil {
		f.fail(name, "it is "+kind(raw)+", or not all of it is text", "a list of strings")
	}
	return list
}

// object calls read with a member that is an object, unless it is left out.
func (f *fields) object(name string, read func(*fields)) {
	if raw := f.raw(name); raw != nil {
		f.inner(name, raw, read)
	}
}

// objects calls read with each object of a member that is a list.
func (f *fields) objects(name string, read func(*fields)) {
	var list []json.RawMessage
	if raw := f.raw(name); raw != nil && json.Unmarshal(raw, &list) != nil {
		f.fail(name, "it is "+kind(raw), "a list of objects")
	}
	for i, raw := range list {
		f.inner(fmt.Sprintf("%s[%d]", name, i), raw, read)
	}
}

// inner reads an object within the body and takes over its mistakes.
func (f *fields) inner(name string, raw json.RawMessage, read func(*fields)) {
	if kind(raw) != "an object" {
		f.fail(name, "it is "+kind(raw), "an object")
		return
	}
	in, p := decodeFields(raw)
	if p != nil { // a member twice
		f.fail(name+"."+p.Errors[0].Field, p.Errors[0].Detail, p.Errors[0].Expected)
		return
	}
	in.at = f.at + name + "."
	read(in)
	in.unknown()
	f.wrong = append(f.wrong, in.wrong...)
}

// problem returns what is wrong with the members that were read and which members
// are unknown, or nil if all is well.
func (f *fields) problem() *Problem {
	f.unknown()
	if len(f.wrong) == 0 {
		return nil
	}
	const most = 16
	f.wrong = f.wrong[:min(len(f.wrong), most)]
	p := invalid(f.wrong[0].Field, f.wrong[0].Detail, f.wrong[0].Expected)
	p.Errors = f.wrong
	return p
}

// unknown records the members that no reader asked for.
func (f *fields) unknown() {
	slices.Sort(f.known)
	f.known = slices.Compact(f.known)
	var unknown []string
	for name := range f.members {
		if !slices.Contains(f.known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		f.fail(shown(name), "there is no such member", "one of "+strings.Join(f.known, ", "))
	}
}

// kind names the kind of a JSON value.
func kind(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
