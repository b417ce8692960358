package namespaces

import (
	"slices"
	"strconv"
	"strings"
)

// trail is the way from a scope's root to one place in it, kept while a tree
// is walked so that an error can name the place. Nil is the root.
type trail struct {
	up    *trail
	key   string
	index int // used when key is ""
}

func (t *trail) child(key string) *trail { return &trail{up: t, key: key} }
func (t *trail) item(index int) *trail   { return &trail{up: t, index: index} }

// String writes the place as a guest would: list[0].owner["full name"]. Only
// its last parts are written if it is long.
func (t *trail) String() string {
	const most = 12
	var parts []string
	for ; t != nil && len(parts) < most; t = t.up {
		if t.key == "" {
			parts = append(parts, "["+strconv.Itoa(t.index)+"]")
		} else {
			parts = append(parts, writtenKey(t.key))
		}
	}
	var b strings.Builder
	if t != nil {
		b.WriteString("…")
	}
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString(parts[i])
	}
	return strings.TrimPrefix(b.String(), ".")
}

// path returns the place as guests send it.
func (t *trail) path() []string {
	var path []string
	for ; t != nil; t = t.up {
		segment := t.key
		if segment == "" {
			segment = strconv.Itoa(t.index)
		}
		path = append(path, segment)
	}
	slices.Reverse(path)
	return path
}

// where is String for sentences, where the root needs a name too.
func (t *trail) where() string {
	if t == nil {
		return "the root of the scope"
	}
	return t.String()
}

// writtenPath writes a path that came from a guest.
func writtenPath(path []string) string {
	const most = 12
	var b strings.Builder
	for i, key := range path {
		if i == most {
			b.WriteString("…")
			break
		}
		b.WriteString(writtenKey(key))
	}
	return strings.TrimPrefix(b.String(), ".")
}

func writtenKey(key string) string {
	if len(key) <= maxNameBytes && IsIdentifier(key) {
		return "." + key
	}
	return "[" + quoteName(key) + "]"
}
