package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"github.com/quoinhq/quoin/host/runstore"
)

// Codes of SQLite that this package tells apart: see https://sqlite.org/rescode.html.
const (
	codeError    = 1
	codeBusy     = 5
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26
)

var errClosed = errors.New("the state was closed")

// isCode reports whether a failure has a code of SQLite. The low byte of the code counts.
func isCode(err error, code int) bool {
	var failed *sqlite.Error
	return errors.As(err, &failed) && failed.Code()&0xff == code
}

// advice is what an operator can do about a failure, by its code.
var advice = map[int]struct {
	as   error // what callers tell it apart by
	says string
}{
	codeBusy:     {runstore.ErrUnavailable, "another process writes to the state and does not end: continue it or end it"},
	codeReadOnly: {runstore.ErrUnavailable, "the state cannot be written: make the folder and its files writable for this user"},
	codeIO:       {runstore.ErrUnavailable, "the disk of the state fails"},
	codeFull:     {runstore.ErrUnavailable, "the disk of the state is full: make room on it"},
	codeCantOpen: {runstore.ErrUnavailable, "the state cannot be opened: make the folder and its files readable and writable for this user"},
	codeCorrupt:  {runstore.ErrCorrupt, "the file of the state is damaged: put a backup in its place"},
	codeNotADB:   {runstore.ErrCorrupt, "the file of the state is no SQLite database, or damaged: put a backup in its place"},
}

// explained adds to a failure of SQLite what can be done about it.
func explained(err error) error {
	var failed *sqlite.Error
	if err == nil || !errors.As(err, &failed) {
		return err
	}
	a, ok := advice[failed.Code()&0xff]
	if !ok || errors.Is(err, a.as) {
		return err
	}
	return fmt.Errorf("%w: %s (%w)", a.as, a.says, err)
}
