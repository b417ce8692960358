package typescript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"
)

// The compiler's command and version. It is no requirement of the module.
const (
	command = "github.com/microsoft/typescript-go/cmd/tsgo"
	version = "v0.0.0-20260708042240-2bd066d87f5b"
)

// setting is the variable that names a compiler to use, or says that one is to be
// built if this machine has none.
const (
	setting = "QUOIN_TSGO"
	toBuild = "build"
)

// errNotBuilt is why a test is left out. Building the compiler takes minutes, which
// a first run of all tests does not spend on it.
var errNotBuilt = errors.New("the TypeScript compiler is not built: make test-types builds it and runs this test")

// name is the file name of the compiler.
const name = "tsgo"

// find returns the path of the compiler. It builds one only if it is told to.
var find = sync.OnceValues(func() (string, error) {
	how := os.Getenv(setting)
	if how != "" && how != toBuild {
		return how, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", help(err)
	}
	dir := filepath.Join(cache, "quoin", "tsgo", version)
	if how == toBuild {
		path, err := build(dir)
		if err != nil {
			return "", help(err)
		}
		return path, nil
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", errNotBuilt
	} else if err != nil {
		return "", help(err)
	}
	return path, nil
})

// build leaves the compiler in dir. Processes that want it at once build it once.
func build(dir string) (path string, err error) {
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
	// go install renames its result into place.
	cmd := exec.Command("go", "install", command+"@"+version)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
}

func help(cause error) error {
	return fmt.Errorf("no TypeScript compiler: %w\nThe test needs the network once, to build it with\n\tgo install %s@%s\nor a copy of it named by %s", cause, command, version, setting)
}
