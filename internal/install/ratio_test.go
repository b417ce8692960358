package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestAnArchiveThatUnfoldsTooFar is refused while it is unpacked, not once the disk
// is full.
func TestAnArchiveThatUnfoldsTooFar(t *testing.T) {
	const size = 200 << 20
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	tw := tar.NewWriter(zw)
	err := tw.WriteHeader(&tar.Header{Name: "bomb/bomb", Size: size, Mode: 0o755, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR})
	if err == nil {
		_, err = io.CopyN(tw, zeros{}, size)
	}
	if err := errors.Join(err, tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	most := int64(freeBytes + maxRatio*packed.Len() + 1<<20)
	dir := t.TempDir()
	if _, err := unpack(&packed, dir); !errors.Is(err, errUnfolds) {
		t.Errorf("%v", err)
	}
	var written int64
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if st, e := e.Info(); e == nil && st.Mode().IsRegular() {
			written += st.Size()
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) || written > most {
		t.Errorf("%d bytes were written, at most %d may be: %v", written, most, err)
	}
}
