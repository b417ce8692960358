package runstore

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// listed is what List has read, by run id: most of a file is the image, and a list of a few
// runs must not read those of all others each time.
type listed struct {
	mu    sync.Mutex
	files map[string]listedFile
}

// listedFile is a record without its image, and the file that it was read from.
type listedFile struct {
	info   fs.FileInfo
	record Record
}

// maxListed bounds a record that is kept, in bytes, without its image.
const maxListed = 64 << 10

// List implements Store. A record that vanishes meanwhile is left out.
func (d *Dir) List(ctx context.Context) ([]*Record, error) {
	ids, err := names(d.path, recordExt)
	if err != nil {
		return nil, err
	}
	d.listed.mu.Lock()
	defer d.listed.mu.Unlock()
	files := make(map[string]listedFile)
	var out []*Record
	for _, id := range ids {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f, err := d.list(id)
		switch {
		case err == nil:
			if f.info != nil {
				files[id] = f
			}
			r := f.record
			r.Calls = slices.Clone(r.Calls)
			out = append(out, &r)
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrExpired), errors.Is(err, ErrEnded), errors.Is(err, ErrCorrupt), errors.Is(err, ErrFormat):
		default:
			return nil, err
		}
	}
	d.listed.files = files
	return out, nil
}

// list returns the record of a run for a list, read again if its file is another than it
// was. Each write to a file makes it longer, or another file.
func (d *Dir) list(id string) (f listedFile, err error) {
	name := filepath.Join(d.path, id+recordExt)
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return f, ErrNotFound
	}
	if err != nil {
		return f, err
	}
	f, known := d.listed.files[id]
	if known && os.SameFile(f.info, info) && f.info.Size() == info.Size() && f.info.ModTime().Equal(info.ModTime()) {
		switch {
		case d.hasEnded(id):
			return f, ErrEnded
		case !time.Now().Before(f.record.Expires):
			return f, ErrExpired
		}
		return f, nil
	}
	l, err := d.get(id)
	if err != nil {
		return f, err
	}
	f = listedFile{record: *l.record}
	f.record.Image, f.record.ImageBytes = nil, len(l.record.Image)
	// What a writer that died has left at the end may be written over.
	if l.size == info.Size() && l.size-int64(len(l.record.Image)) <= maxListed {
		f.info = info
		for i := range f.record.Calls { // an answer is a part of the whole file
			f.record.Calls[i].Answer = bytes.Clone(f.record.Calls[i].Answer)
		}
	}
	return f, nil
}
