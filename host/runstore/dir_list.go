package runstore

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// maxListed bounds a record that is kept, in bytes, without its image.
const maxListed = 64 << 10

// listedFile is a record without its image, and the file that it was read from. A list of a
// few runs must not read the images of all others each time.
type listedFile struct {
	info   fs.FileInfo // nil: it is read again
	record Record
}

// List implements Store. A record that vanishes while it runs is left out.
func (d *Dir) List(ctx context.Context) (out []*Record, _ error) {
	ids, err := names(d.path, recordExt)
	if err != nil {
		return nil, err
	}
	d.listMu.Lock()
	defer d.listMu.Unlock()
	files := make(map[string]listedFile)
	for _, id := range ids {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f, err := d.list(id)
		switch {
		case err == nil:
			files[id] = f
			r := f.record
			r.Calls = slices.Clone(r.Calls)
			out = append(out, &r)
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrExpired), errors.Is(err, ErrEnded), errors.Is(err, ErrCorrupt), errors.Is(err, ErrFormat):
		default:
			return nil, err
		}
	}
	d.listed = files
	return out, nil
}

// list returns the record of a run for a list, read again if its file is another than it
// was. Each write to a file makes it longer, or another file.
func (d *Dir) list(id string) (f listedFile, err error) {
	info, err := os.Lstat(d.at(id, recordExt))
	if f = d.listed[id]; err == nil && unchanged(f.info, info) {
		if d.hasEnded(id) || !time.Now().Before(f.record.Expires) {
			return f, ErrEnded
		}
		return f, nil
	}
	l, geterr := d.run(id)
	if geterr != nil {
		return f, geterr
	}
	f = listedFile{record: *l.record}
	f.record.Image, f.record.ImageBytes = nil, len(l.record.Image)
	// What a writer that died has left at the end may be written over.
	if err == nil && l.size == info.Size() && l.size-int64(len(l.record.Image)) <= maxListed {
		f.info = info
		for i := range f.record.Calls { // an answer is a part of the whole file
			f.record.Calls[i].Answer = bytes.Clone(f.record.Calls[i].Answer)
		}
	}
	return f, nil
}

// unchanged reports whether a file is the one that was looked at, if one was, and was not
// written since.
func unchanged(was, now fs.FileInfo) bool {
	return was != nil && os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}
