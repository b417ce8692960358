// Package hosttest helps tests of this module that need the real thing: it builds
// the guest worker, and the example plugins into a host's plugin directory.
package hosttest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
)

// Guest builds the guest worker as make build does, and returns its path: the worker of
// the native engine in tests that are built with the tag quickjs_c. Unlike a test binary
// that serves as its own guest, it is never slowed down by the race detector. Do not
// write to its file: other tests run it.
func Guest() (string, error) { return guest(guestName, buildGuest) }

// DefaultGuest is Guest for the default engine.
func DefaultGuest() (string, error) { return guest("quoin-guest", buildDefaultGuest) }

// NativeGuest builds the guest worker of the native engine, with the command that a host
// names where it misses one. It needs a C compiler: see HasCompiler.
func NativeGuest() (string, error) { return guest("quoin-guest-native", buildNativeGuest) }

// HasCompiler reports whether there is the C compiler that the native engine needs.
func HasCompiler() bool {
	_, err := exec.LookPath(cmp.Or(os.Getenv("CC"), "cc"))
	return err == nil && runtime.GOOS == "linux"
}

// buildDefaultGuest are the arguments with which the Go tool builds the worker of the
// default engine: where guests run, with the optimised library, as make build does.
func buildDefaultGuest(bin string) []string {
	if runtime.GOOS == "linux" {
		return []string{"run", "-pgo=off", module + "/guestrt/cmd/quoin-optimize", "-o", bin}
	}
	return []string{"build", "-trimpath", "-buildvcs=false", "-buildmode=exe", "-ldflags=-buildid=", "-o", bin, module + "/guestrt/cmd/quoin-guest"}
}

// buildNativeGuest are those for the worker of the native engine.
func buildNativeGuest(bin string) []string {
	return []string{"run", "-pgo=off", module + "/guestrt/cmd/quoin-native", "-o", bin}
}

func guest(name string, arguments func(bin string) []string) (string, error) {
	return program(name, func(path string) error { return goTool(arguments(path)) })
}

// engineID starts the id of the default engine in its worker.
var engineID = regexp.MustCompile(`quickjs-\d{4}-\d\d-\d\d/`)

// RenamedGuest writes the guest worker of the default engine to a file, changed so that it says to run the
// native engine. It is for tests of the choice between the two, which need no C compiler.
func RenamedGuest(path string) error {
	built, err := DefaultGuest()
	if err != nil {
		return err
	}
	b, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	if !engineID.Match(b) {
		return fmt.Errorf("the guest worker does not have an engine id of the form %v", engineID)
	}
	return os.WriteFile(path, engineID.ReplaceAll(b, []byte("quickjs-ng-renamed/")), 0o755)
}
