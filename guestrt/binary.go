package guestrt

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"runtime"
)

// binary is the opened and hashed guest executable.
type binary struct {
	path string
	kind *workerKind // what it was looked for as
	// anyEngine says that the worker's engine is the one that was looked for, whichever
	// it is.
	anyEngine bool
	file      *os.File
	id        [sha256.Size]byte
}

func openBinary(path string) (*binary, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b := &binary{path: path, file: f}
	if err := b.check(); err != nil {
		f.Close()
		return nil, err
	}
	return b, nil
}

// check hashes the executable and refuses one whose snapshots could not be
// restored: they hold addresses of its code, which must not move.
func (b *binary) check() error {
	info, err := b.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", b.path)
	}
	h := sha256.New()
	if _, err := io.Copy(h, b.file); err != nil {
		return err
	}
	h.Sum(b.id[:0])
	if runtime.GOOS != "linux" {
		return nil
	}
	e, err := elf.NewFile(b.file)
	if err != nil {
		return fmt.Errorf("%s is not an executable of this system: %w", b.path, err)
	}
	if e.Type != elf.ET_EXEC {
		return fmt.Errorf("%s is position independent; build it with CGO_ENABLED=0 and -buildmode=exe, or the native worker with quoin-native", b.path)
	}
	return nil
}

// BuildOf returns the build id of a guest executable, as Pool.BuildID does, without
// starting it.
func BuildOf(path string) ([32]byte, error) {
	b, err := openBinary(path)
	if err != nil {
		return [32]byte{}, err
	}
	return b.id, b.file.Close()
}
