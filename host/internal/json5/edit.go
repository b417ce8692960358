package json5

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Set returns text with value, which is JSON, at path: the names of the objects on
// the way, and of the member. Objects that are not there are made. Everything else
// stays as it is written, with its comments; only those inside a value that is
// replaced go with it. It fails if text is no JSON5, or something on the way is no
// object or stands twice.
func Set(text []byte, path []string, value []byte) ([]byte, error) {
	v, err := Parse(value)
	if err != nil {
		return nil, fmt.Errorf("the value: %w", err)
	}
	e, err := open(text)
	if err != nil {
		return nil, err
	}
	at, rest, m, err := e.walk(path)
	if err != nil {
		return nil, err
	}
	if m != nil {
		e.replace(at, m, v)
		return e.result()
	}
	for _, name := range slices.Backward(rest[1:]) {
		v = &Value{Kind: Object, Members: []Member{{Name: name, Value: v}}}
	}
	e.insert(at, rest[0], v)
	return e.result()
}

// Remove returns text without the member at path. Everything else stays as it is
// written, with its comments; only those inside the member go with it. A member that
// is not there is no failure.
func Remove(text []byte, path []string) ([]byte, error) {
	e, err := open(text)
	if err != nil {
		return nil, err
	}
	at, _, m, err := e.walk(path)
	if err != nil || m == nil {
		return text, err
	}
	e.remove(at, m)
	return e.result()
}

// editor collects changes of one text.
type editor struct {
	text     []byte
	root     *Value
	comments []span
	changes  []change // in the order of the text
	style    style
}

// change puts a text in the place of a span.
type change struct {
	span
	with string
}

func open(text []byte) (*editor, error) {
	root, comments, err := parse(text)
	if err != nil {
		return nil, err
	}
	e := &editor{text: text, root: root, comments: comments}
	e.style = e.observe()
	return e, nil
}

// result makes the changes. What cannot be read back is no result: a value can be too
// deep where it now stands.
func (e *editor) result() ([]byte, error) {
	var out []byte
	at := 0
	for _, c := range e.changes {
		out = append(out, e.text[at:c.start]...)
		out = append(out, c.with...)
		at = c.end
	}
	out = append(out, e.text[at:]...)
	if _, err := Parse(out); err != nil {
		return nil, fmt.Errorf("after the change: %w", err)
	}
	return out, nil
}

func (e *editor) change(start, end int, with string) {
	e.changes = append(e.changes, change{span{start, end}, with})
}

// walk follows path as long as its names are there. It returns the last object, and either
// its member that path leads to, or the names that are not there.
func (e *editor) walk(path []string) (at *Value, rest []string, found *Member, err error) {
	at = e.root
	for i, name := range path {
		if at.Kind != Object {
			return nil, nil, nil, &SyntaxError{At(e.text, at.Offset), fmt.Sprintf("%s is %s; expected an object", called(path[:i]), at.Kind)}
		}
		found = nil
		for j := range at.Members {
			if at.Members[j].Name != name {
				continue
			}
			if found != nil {
				return nil, nil, nil, &SyntaxError{At(e.text, at.Members[j].Offset), called(path[:i+1]) + " stands here a second time; remove one of them"}
			}
			found = &at.Members[j]
		}
		if found == nil {
			return at, path[i:], nil, nil
		}
		if i < len(path)-1 {
			at = found.Value
		}
	}
	return at, nil, found, nil
}

// called names a place for people.
func called(path []string) string {
	if len(path) == 0 {
		return "the text"
	}
	return strings.Join(path, ".")
}

// replace puts v in the place of the member's value.
func (e *editor) replace(at *Value, m *Member, v *Value) {
	old := m.Value
	lines := e.hasLines(at.Offset, at.end)
	e.change(old.Offset, old.end, string(e.style.append(nil, v, e.indent(m.Offset), lines)))
}

// insert adds a member behind everything that the object has, comments too.
func (e *editor) insert(at *Value, name string, v *Value) {
	lines := e.hasLines(at.Offset, at.end) || len(at.Members) == 0 && (at == e.root || e.hasLines(e.root.Offset, e.root.end))
	closing := at.end - 1
	tail, trailing := at.Offset+1, lines && !e.style.quoted
	if n := len(at.Members); n > 0 {
		last := at.Members[n-1]
		tail, trailing = max(last.Value.end, last.comma+1), last.comma != 0
		if !trailing {
			e.change(last.Value.end, last.Value.end, ",")
		}
	}
	for _, c := range e.comments {
		if c.end <= closing {
			tail = max(tail, c.end)
		}
	}
	indent, before, after := "", " ", ""
	gap := e.text[tail:closing]
	if lines {
		indent = e.memberIndent(at)
		before = e.style.eol + indent
		if !bytes.ContainsFunc(gap, isLineEnd) {
			after = e.style.eol + e.indent(at.Offset)
		}
	} else if len(gap) == 0 && (len(at.Members) == 0 || e.text[at.Offset+1] == ' ') {
		after = " "
	}
	b := e.style.append(append(e.style.appendName([]byte(before), name), ": "...), v, indent, lines)
	if trailing {
		b = append(b, ',')
	}
	end := tail
	if lines && after != "" {
		end = closing // the space before the bracket
	}
	e.change(tail, end, string(b)+after)
}

// remove takes a member and one comma out, and the line if nothing else is on it.
func (e *editor) remove(at *Value, m *Member) {
	i := slices.IndexFunc(at.Members, func(o Member) bool { return o.Offset == m.Offset })
	if m.comma == 0 && i > 0 {
		e.change(at.Members[i-1].comma, at.Members[i-1].comma+1, "")
	}
	end := m.Value.end
	if m.comma != 0 && len(bytes.TrimSpace(e.text[end:m.comma])) == 0 {
		end = m.comma + 1
	}
	start, after := e.blanksBefore(m.Offset), e.blanksAfter(end)
	atLineStart := start == 0 || e.text[start-1] == '\n'
	switch next := e.text[after:]; {
	case atLineStart && bytes.HasPrefix(next, []byte("\n")):
		e.change(start, after+1, "")
	case atLineStart && bytes.HasPrefix(next, []byte("\r\n")):
		e.change(start, after+2, "")
	case bytes.HasPrefix(next, []byte("}")) && len(at.Members) > 1:
		e.change(start, end, "")
	case bytes.ContainsFunc(next[:min(len(next), 1)], isLineEnd), bytes.HasPrefix(next, []byte("}")):
		e.change(start, after, "")
	default:
		e.change(m.Offset, after, "")
	}
	if m.comma >= end { // there are comments before the comma
		e.change(m.comma, m.comma+1, "")
	}
}

// blanksBefore returns where the spaces and tabs in front of at start.
func (e *editor) blanksBefore(at int) int {
	for at > 0 && (e.text[at-1] == ' ' || e.text[at-1] == '\t') {
		at--
	}
	return at
}

// blanksAfter returns where the spaces and tabs from at on end.
func (e *editor) blanksAfter(at int) int {
	for at < len(e.text) && (e.text[at] == ' ' || e.text[at] == '\t') {
		at++
	}
	return at
}

func (e *editor) hasLines(start, end int) bool {
	return bytes.ContainsFunc(e.text[start:end], isLineEnd)
}

// indent returns the spaces and tabs that the line of a place starts with.
func (e *editor) indent(at int) string {
	line := bytes.LastIndexAny(e.text[:at], "\r\n") + 1
	return string(e.text[line:min(e.blanksAfter(line), at)])
}

// memberIndent returns the indentation of a member of an object: the indentation of the
// first one with a line of its own, or else one step more than the object's line.
func (e *editor) memberIndent(at *Value) string {
	for _, m := range at.Members {
		if start := e.blanksBefore(m.Offset); start > 0 && bytes.ContainsRune([]byte("\r\n"), rune(e.text[start-1])) {
			return string(e.text[start:m.Offset])
		}
	}
	return e.indent(at.Offset) + e.style.step
}
