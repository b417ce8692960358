// Package tsgo finds Microsoft's TypeScript compiler on this machine. Without one, it
// builds the compiler that is written in Go.
//
// It is no requirement of the module: the go command fetches and builds it in the
// version that this package names, into the user's cache directory, which takes the
// network and some minutes, once.
package tsgo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// The compiler's command and version.
const (
	command = "github.com/microsoft/typescript-go/cmd/tsgo"
	version = "v0.0.0-20260708042240-2bd066d87f5b"
	name    = "tsgo"
)

// Setting is the environment variable that names a compiler to use in place of any
// other. [ToBuild] as its value means the one that this package builds.
const (
	Setting = "QUOIN_TSGO"
	ToBuild = "build"
)

// Installed returns the compiler that the user has chosen or installed: the
// compiler of [Setting], else tsgo or tsc of dir's node_modules, else of PATH.
// It returns "" without one.
func Installed(dir string) string {
	switch how := os.Getenv(Setting); how {
	case "":
	case ToBuild:
		return ""
	default:
		return how
	}
	bin := filepath.Join(dir, "node_modules", ".bin")
	for _, name := range []string{filepath.Join(bin, "tsgo"), filepath.Join(bin, "tsc"), "tsgo", "tsc"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Built returns the compiler of the pinned version. The error is fs.ErrNotExist where
// it has not been built yet.
func Built() (path string, err error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, name)
	_, err = os.Stat(path)
	return path, err
}

// folder is where the compiler is, or will be.
func folder() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "quoin", "tsgo", version), err
}

// Build is Built, and builds the compiler where that has not been done. Processes that
// want it at once build it once. Before it builds, it calls
// onStart.
func Build(ctx context.Context, onStart func(command string)) (path string, err error) {
	if path, err = build(ctx, onStart); err != nil {
		return "", fmt.Errorf("no TypeScript compiler: %w\nIt needs the go command and the network once, to build it with\n\tgo install %s@%s\nor a compiler named by %s", err, command, version, Setting)
	}
	return path, nil
}

func build(ctx context.Context, onStart func(string)) (path string, err error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, name)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	onStart("go install " + command + "@" + version)
	return path, install(ctx, dir, buildTime)
}

// buildTime bounds one attempt to build the compiler. A build from nothing takes four minutes
// on two processors.
const buildTime = 8 * time.Minute

// install builds the compiler into a folder, in two attempts: a download that stands still has
// no end of its own, and the go command keeps what it has got and compiled.
func install(ctx context.Context, dir string, limit time.Duration) error {
	err := attempt(ctx, dir, limit)
	if errors.Is(err, errStandsStill) {
		err = attempt(ctx, dir, limit)
	}
	return err
}

var errStandsStill = errors.New("it has not ended in time: is the network slow?")

// attempt is one attempt. The go command renames its result into place.
func attempt(ctx context.Context, dir string, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStandsStill)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "install", command+"@"+version)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "CGO_ENABLED=0")
	cmd.WaitDelay = time.Second // its children hold the pipe
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
