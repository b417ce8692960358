package documents

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// ErrCorrupt means that a document is damaged, or was not written by this installation
// under its present name.
var ErrCorrupt = errors.New("document is damaged or was not written by this installation")

// ErrTooLarge means that documents do not fit into a bound.
var ErrTooLarge = errors.New("too large")

// DefaultMaxBytes bounds a document of a driver that is told no other bound.
const DefaultMaxBytes = 4 << 20

// Store has the documents of one purpose. See the package comment for what every driver
// promises. A document that is not there is fs.ErrNotExist.
type Store interface {
	// Create stores a document under a new name. If the name is taken, the error is
	// fs.ErrExist and nothing changes. The document expires at that time, never if that is
	// zero.
	Create(ctx context.Context, name string, content []byte, expires time.Time) error
	// Replace is Create for a name that may be taken.
	Replace(ctx context.Context, name string, content []byte, expires time.Time) error
	// Read returns the content of a document.
	Read(ctx context.Context, name string) ([]byte, error)
	// All returns the documents with an extension, such as ".json", in no order. The error is
	// ErrTooLarge if they have more bytes together than 64 of the largest size.
	All(ctx context.Context, ext string) ([]Document, error)
	// Names returns the names with an extension. Unless due is zero they are the names of the
	// documents that expire by then, and of the documents where that is not known. Where
	// several machines share a store, what has expired is told by the clock of the store if
	// that is behind due.
	Names(ctx context.Context, ext string, due time.Time) ([]string, error)
	// Counts returns how many documents there are of each extension.
	Counts(ctx context.Context) (map[string]int, error)
	// Remove removes documents in that order. The error is fs.ErrNotExist if not one of them
	// was there.
	Remove(ctx context.Context, names ...string) error
	// Sweep removes what writers that died have left. Where documents are transient, it
	// also removes those that have expired and, unless keep is 0, all but keep of the
	// others: those that expire first go first. It goes by the clock that Names goes by.
	Sweep(ctx context.Context, now time.Time, keep int) error
	// Stamp returns a mark that changes whenever the document does, "" if it is not there.
	Stamp(ctx context.Context, name string) (string, error)
	// Version returns a mark that changes whenever any document of the purpose does. "" says
	// that it cannot be told now.
	Version(ctx context.Context) (string, error)
	// Lock waits for the lock of that name, which no other process then holds, until ctx
	// ends. Locks are no documents. The holder writes and removes documents with the context
	// held, until it calls unlock: once the lock is not its own any more, that is refused with
	// ErrLockLost.
	Lock(ctx context.Context, name string) (held context.Context, unlock func(), err error)
	// Watch returns a channel that receives after documents with that extension may have
	// changed, in any process, until ctx ends. Receives are not counted.
	Watch(ctx context.Context, ext string) <-chan struct{}
	// Location says where a document is, for messages to operators.
	Location(name string) string
}

// Clock is implemented by stores that several machines share.
type Clock interface {
	// Earlier returns here, a time of the clock of this machine, or the time of the store if
	// that is behind it.
	Earlier(ctx context.Context, here time.Time) (time.Time, error)
}

// Document is a document of a list.
type Document struct {
	Name    string
	Content []byte
	Expires time.Time // zero: never, or that is not known
	Err     error     // why there is no content
}

// namePattern is what names of documents look like: a name that no file system reads as
// anything else.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$`)

// CheckName refuses what is not the name of a document.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("the name of a document is %.80q: expected at most 200 letters, digits, dots, - and _", name)
	}
	return nil
}

// TooLarge says that a document does not fit into a bound, in bytes.
func TooLarge(where string, size, limit int) error {
	return fmt.Errorf("%w: %s would have %d bytes, at most %d fit", ErrTooLarge, where, size, limit)
}

const (
	largestAll   = 64  // documents of the largest size that All reads
	documentCost = 128 // what a document of a list costs apart from its content, in bytes
)

// Tally counts what All of a driver returns. The zero value has counted nothing.
type Tally struct{ bytes int }

// Add counts a document of a driver with documents of at most maxBytes each. The
// error is ErrTooLarge.
func (t *Tally) Add(where string, d Document, maxBytes int) error {
	if t.bytes += len(d.Content) + documentCost; t.bytes > largestAll*maxBytes {
		return fmt.Errorf("%w: %s have more than %d bytes together: remove what is not needed", ErrTooLarge, where, largestAll*maxBytes)
	}
	return nil
}
