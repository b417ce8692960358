package openapi

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
)

// Load reads a document, and the files below its directory that it refers to if it is a
// file itself.
func Load(ctx context.Context, source string, transport http.RoundTripper) (d *Document, err error) {
	raw, err := Read(ctx, source, transport)
	if err != nil {
		return nil, err
	}
	if IsAddress(source) {
		if d, err = Parse(raw); err == nil {
			d.source = source
		}
		return d, err
	}
	dir, err := os.OpenRoot(filepath.Dir(source))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return read(raw, &files{dir: dir, own: filepath.Base(source), room: maxText, read: map[string]*file{}})
}
