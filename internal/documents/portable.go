package documents

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"time"
)

// Portable are the documents of one extension that quoin state move, export and import
// carry from store to store.
type Portable struct {
	Store Store
	Kind  string // what one of them is, for people, such as "program"
	Ext   string
	// Stays says that a move leaves them in the source, too: a host that lacked them would
	// trust what it sees next.
	Stays bool
	// Remade says that hosts write them by themselves, so that it does not matter if two
	// stores have different ones.
	Remade bool
	// Locked says that writers hold the lock of the name without its extension.
	Locked bool
	// Expires returns when a document expires. Nil: never.
	Expires func(content []byte) time.Time
	// Title returns what people call a document. Nil: its name without the extension.
	Title func(content []byte) string
}

// TitleOf is what people call a document.
func (p Portable) TitleOf(name string, content []byte) string {
	if p.Title != nil && content != nil {
		if title := p.Title(content); title != "" {
			return title
		}
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// ErrMoving means that a document is on its way to another store, or is a copy that waits
// for its import.
var ErrMoving = errors.New("it is being moved to another state: repeat quoin state move")

// moving is how the content of a document starts that no host uses.
const moving = "moving: "

// Mark returns content that no host uses: it is no JSON.
func Mark(content []byte, mark string) []byte { return append([]byte(moving+mark+"\n"), content...) }

// Unmark returns the content of a document and its mark, "" without one.
func Unmark(content []byte) (plain []byte, mark string) {
	rest, ok := bytes.CutPrefix(content, []byte(moving))
	if !ok {
		return content, ""
	}
	m, plain, _ := bytes.Cut(rest, []byte("\n"))
	return plain, string(m)
}
