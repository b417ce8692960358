package guestrt

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/quoinhq/quoin/internal/selfexec"
	"github.com/quoinhq/quoin/internal/wire"
)

var (
	defaultWorker = &workerKind{
		EngineDefault, "quoin-guest", "guest.path",
		"CGO_ENABLED=0 go build -o %s github.com/quoinhq/quoin/guestrt/cmd/quoin-guest",
	}
	nativeWorker = &workerKind{
		EngineNative, "quoin-guest-native", "guest.nativePath",
		"go run github.com/quoinhq/quoin/guestrt/cmd/quoin-native -o %s",
	}
)

func kindOf(e Engine) *workerKind {
	if e == EngineNative {
		return nativeWorker
	}
	return defaultWorker
}

// path is what a Config says of the executable.
func (k *workerKind) path(c Config) string {
	if k == nativeWorker {
		return c.NativePath
	}
	return c.GuestPath
}

// buildLine is the command that makes the executable at a path.
func (k *workerKind) buildLine(path string) string { return strings.Replace(k.build, "%s", path, 1) }

// findBinary opens the guest executable of the engine and of the build that the Config
// names.
func findBinary(c Config) (*binary, error) {
	b, err := searchEngine(c)
	if c.Engine == EngineNative && errors.Is(err, ErrNoWorker) {
		return nil, unavailable("%v; or set guest.engine to %q", err, EngineDefault)
	}
	if err != nil || c.BuildID == [sha256.Size]byte{} || b.id == c.BuildID {
		return b, err
	}
	return nil, errors.Join(unavailable("the guest worker %s has the build %.12x, expected %.12x: the file was replaced; "+
		"put back the one that was there, or start the host again", b.path, b.id, c.BuildID), b.file.Close())
}

// FindWorker returns the executable of the worker that a pool of that Config would run,
// and its build. It starts nothing. The error matches ErrNoWorker where no setting names
// an executable and its place is empty.
func FindWorker(c Config) (path string, build [32]byte, err error) {
	b, err := searchEngine(c)
	if err != nil {
		return "", build, err
	}
	return b.path, b.id, b.file.Close()
}

// searchEngine looks for a worker of the engine that a Config names.
func searchEngine(c Config) (*binary, error) {
	if c.Engine == "" && c.GuestPath == "" {
		c.Engine = EngineAuto
	}
	if c.Engine == EngineAuto {
		b, err := nativeWorker.search(c)
		if !errors.Is(err, ErrNoWorker) {
			return b, err
		}
		c.Engine = EngineDefault
	}
	b, err := kindOf(c.Engine).search(c)
	if err == nil {
		b.anyEngine = c.Engine == ""
	}
	return b, err
}

// search looks for a worker of one engine in the three places there are.
func (k *workerKind) search(c Config) (*binary, error) {
	if path := k.path(c); path != "" {
		b, err := k.open(path)
		if err != nil {
			return nil, unavailable("the guest worker cannot be used: %v; %s must name the %s executable, build it with: %s", err, k.setting, k.name, k.buildLine(path))
		}
		return b, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, unavailable("the running executable is unknown: %v; set %s", err, k.setting)
	}
	neighbour := filepath.Join(filepath.Dir(self), k.name)
	if runtime.GOOS == "windows" {
		neighbour += ".exe"
	}
	b, err := k.open(neighbour)
	if err == nil {
		return b, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, unavailable("the guest worker cannot be used: %v", err)
	}
	if id := selfexec.EngineID(); id == "" || c.Engine != "" && EngineOf(id) != k.engine {
		e := k.notFound(neighbour)
		e.absent = true
		return nil, e
	}
	if b, err = k.open(selfPath(self)); err != nil {
		return nil, unavailable("this program cannot be its own guest worker: %v", err)
	}
	return b, nil
}

// open opens an executable that is to be a worker of the kind.
func (k *workerKind) open(path string) (*binary, error) {
	b, err := openBinary(path)
	if err == nil {
		b.kind = k
	}
	return b, err
}

// notFound names the places and what puts a worker there.
func (k *workerKind) notFound(neighbour string) *WorkerError {
	if k == nativeWorker {
		return nativeNotFound(neighbour)
	}
	return notFound(neighbour)
}

// nativeNotFound says how to get the worker of the native engine, which has to be asked
// for: it needs a C compiler.
func nativeNotFound(neighbour string) *WorkerError {
	out := neighbour
	if underGoRun(neighbour) { // a directory that is not its author's
		out = nativeWorker.name
	}
	return unavailable("no guest worker of the native engine was found: guest.nativePath is not set, and %s does not exist; "+
		"build it with: %s (with a C compiler here; in a checkout of Quoin: make native), and set guest.nativePath to it unless it lies next to this program",
		neighbour, nativeWorker.buildLine(out))
}

// notFound names the three places and what puts a worker there. A program of go
// run is alone in a directory that is not its author's.
func notFound(neighbour string) *WorkerError {
	const build = "CGO_ENABLED=0 go build -o "
	if underGoRun(neighbour) {
		return unavailable("no guest worker was found: guest.path is not set, and go run has put this program alone into a directory of its own; " +
			"call guestserver.ServeIfWorker() first thing in main and run it with: CGO_ENABLED=0 go run YOUR_PACKAGE, " +
			"or build both into one directory and run it from there: " + build + "bin/ YOUR_PACKAGE github.com/quoinhq/quoin/guestrt/cmd/quoin-guest, " +
			"or build the worker alone and set guest.path to it")
	}
	return unavailable("no guest worker was found: guest.path is not set, %s does not exist, and this program does not serve as its own worker; "+
		"fix one of them: set guest.path, or run: %s, or call guestserver.ServeIfWorker() first thing in main", neighbour, defaultWorker.buildLine(neighbour))
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

// checkEngine holds the engine that a worker says it runs against the one that was
// looked for. Ids become labels of metrics and go into records, so they are short and
// plain.
func (b *binary) checkEngine(ready *wire.Ready) error {
	id := ready.EngineID
	if !plainID(id) {
		return unavailable("the guest worker %s says that its engine is %.64q, which is not an engine's id; use the worker built with this host", b.path, id)
	}
	if got := EngineOf(id); got != b.kind.engine && !b.anyEngine {
		return unavailable("the guest worker %s runs the %s engine (%s), expected the %s engine: %s must name a worker of it, "+
			"and %s one of the %s engine; or set guest.engine to %q",
			b.path, got, id, b.kind.engine, b.kind.setting, kindOf(got).setting, got, got)
	}
	return nil
}
