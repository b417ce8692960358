package guestrt

import (
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/quoinhq/quoin/internal/selfexec"
)

// guestName is the worker's executable next to the host's.
const guestName = "quoin-guest"

// binary is the opened and hashed guest executable.
type binary struct {
	path string
	file *os.File
	id   [sha256.Size]byte
}

// findBinary opens the guest executable, which must be of the build that the Config
// names.
func findBinary(c Config) (*binary, error) {
	b, err := searchBinary(c)
	if err != nil || c.BuildID == [sha256.Size]byte{} || b.id == c.BuildID {
		return b, err
	}
	return nil, errors.Join(unavailable("the guest worker %s has the build %.12x, expected %.12x: the file was replaced; "+
		"put back the one that was there, or start the host again", b.path, b.id, c.BuildID), b.file.Close())
}

// searchBinary looks for the guest executable in the three places a Config names.
func searchBinary(c Config) (*binary, error) {
	if c.GuestPath != "" {
		b, err := openBinary(c.GuestPath)
		if err != nil {
			return nil, unavailable("the guest worker cannot be used: %v; guest.path must name the quoin-guest executable, "+
				"build it with: CGO_ENABLED=0 go build -o %s github.com/quoinhq/quoin/guestrt/cmd/quoin-guest", err, c.GuestPath)
		}
		return b, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, unavailable("the running executable is unknown: %v; set guest.path", err)
	}
	name := guestName
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	beside := filepath.Join(filepath.Dir(self), name)
	b, err := openBinary(beside)
	if err == nil {
		return b, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, unavailable("the guest worker cannot be used: %v", err)
	}
	if !selfexec.Available() {
		return nil, notFound(beside)
	}
	if b, err = openBinary(selfPath(self)); err != nil {
		return nil, unavailable("this program cannot be its own guest worker: %v", err)
	}
	return b, nil
}

// notFound names the three places and what puts a worker there. A program of go
// run is alone in a directory that is not its author's.
func notFound(beside string) *WorkerError {
	if underGoRun(beside) {
		return unavailable("no guest worker was found: guest.path is not set, and go run has put this program alone into a directory of its own; " +
			"call guestserver.ServeIfWorker() first thing in main and run it with: CGO_ENABLED=0 go run YOUR_PACKAGE, " +
			"or build both into one directory and run it from there: CGO_ENABLED=0 go build -o bin/ YOUR_PACKAGE github.com/quoinhq/quoin/guestrt/cmd/quoin-guest, " +
			"or build the worker alone and set guest.path to it")
	}
	return unavailable("no guest worker was found: guest.path is not set, %s does not exist, and this program does not serve as its own worker; "+
		"fix one of them: set guest.path, or run: CGO_ENABLED=0 go build -o %s github.com/quoinhq/quoin/guestrt/cmd/quoin-guest, "+
		"or call guestserver.ServeIfWorker() first thing in main", beside, beside)
}

// underGoRun reports whether a path is in a directory that go run has made for an
// executable: one such as /tmp/go-build123/b001/exe, or where it finds the program
// the next time, one such as 59 and 59, 62 more digits and -d below GOCACHE.
func underGoRun(path string) bool {
	dir := filepath.Dir(path)
	if cached.MatchString(filepath.ToSlash(dir)) {
		return true
	}
	_, parent := filepath.Split(filepath.Dir(filepath.Dir(dir)))
	return filepath.Base(dir) == "exe" && strings.HasPrefix(parent, "go-build")
}

// cached is a directory of the build cache that holds an executable.
var cached = regexp.MustCompile(`/[0-9a-f]{2}/[0-9a-f]{64}-d$`)

// selfPath is the running executable even if its file was replaced.
func selfPath(executable string) string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	return executable
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
		return fmt.Errorf("%s is position independent; build it with CGO_ENABLED=0 and -buildmode=exe", b.path)
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
