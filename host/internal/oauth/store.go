package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/quoinhq/quoin/internal/documents"
)

// The kinds of documents, by their extension.
const (
	grantExt  = ".grant"
	flowExt   = ".flow"
	clientExt = ".client"
)

// MaxDocument bounds what is kept in one piece, encrypted, in bytes.
const MaxDocument = 256 << 10

// store keeps encrypted documents. What is in one counts only under the name that it was
// written for.
type store struct{ docs documents.Store }

// read decodes a document into v. The error is fs.ErrNotExist if it is not there.
func (s store) read(ctx context.Context, name string, v any) error {
	plain, err := s.docs.Read(ctx, name)
	if errors.Is(err, documents.ErrCorrupt) {
		return fmt.Errorf("%s was not written by this host: remove it, and sign in again", s.docs.Location(name))
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, v)
}

// write replaces a document.
func (s store) write(ctx context.Context, name string, v any) error {
	plain, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.docs.Replace(ctx, name, plain, time.Time{})
}

// remove removes documents that may be there.
func (s store) remove(ctx context.Context, names ...string) error {
	if err := s.docs.Remove(ctx, names...); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// stamp changes whenever a document does. It is "" if the document is not there.
func (s store) stamp(ctx context.Context, name string) string {
	stamp, err := s.docs.Stamp(ctx, name)
	if err != nil {
		return err.Error()
	}
	return stamp
}

// lock excludes every other holder of the lock of that name, in all processes. The holder
// writes with the context that it returns.
func (s store) lock(ctx context.Context, id string) (held context.Context, unlock func(), err error) {
	return s.docs.Lock(ctx, id)
}
