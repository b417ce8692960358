package guestrt

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
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

// check hashes the executable and refuses it if its snapshots could not be
// restored: they hold addresses of its code, which must not move.
func (b *binary) check() error {
	info, err := b.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", b.path)
	}
	if err := b.hash(info); err != nil {
		return err
	}
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

// hashes are the sums of executables by path: a process opens the same one again and again,
// to look for it, to look into it and to start workers of it.
var hashes sync.Map

type hashed struct {
	info os.FileInfo
	id   [sha256.Size]byte
}

// hash sets the id of an executable, which is read again if its file is another or was
// written since.
func (b *binary) hash(info os.FileInfo) error {
	if v, ok := hashes.Load(b.path); ok {
		was := v.(hashed)
		if os.SameFile(was.info, info) && was.info.Size() == info.Size() && was.info.ModTime().Equal(info.ModTime()) {
			b.id = was.id
			return nil
		}
	}
	h := sha256.New()
	if _, err := io.Copy(h, b.file); err != nil {
		return err
	}
	h.Sum(b.id[:0])
	hashes.Store(b.path, hashed{info, b.id})
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

// workerKind tells the workers of the two engines apart before one runs.
type workerKind struct {
	engine Engine
	// name is the worker's executable next to the host's.
	name string
	// setting is the field of a configuration that names the executable.
	setting string
	// build is the command that makes the executable, with its path for %s.
	build string
}
