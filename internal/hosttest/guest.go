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

// engineVariable names the engine that guests of tests run, one of engines. It defaults to
// the engine of make build.
const engineVariable = "QUOIN_TEST_ENGINE"

// engine is a way to build the guest worker.
type engine struct {
	worker string // the name of its file
	build  func(bin string) []string
}

// engines are those that a test can run, by name.
var engines = map[string]engine{
	"":         {"quoin-guest", buildDefaultGuest},
	"native":   {"quoin-guest-native", func(bin string) []string { return nativeBuild("-o", bin) }},
	"sanitize": {"quoin-guest-sanitize", func(bin string) []string { return nativeBuild("-sanitize", "-o", bin) }},
}

// Guest builds the guest worker as make build does, and returns its path: the worker of
// the engine that QUOIN_TEST_ENGINE names, native or sanitize, the native engine with
// sanitizers. Unlike a test binary that serves as its own guest, it is never slowed down
// by the race detector. Do not write to its file: other tests run it.
func Guest() (string, error) {
	e, err := chosenEngine()
	if err != nil {
		return "", err
	}
	return e.guest()
}

// DefaultGuest is Guest for the default engine.
func DefaultGuest() (string, error) { return engines[""].guest() }

// NativeGuest builds the guest worker of the native engine, with the command that a host
// names where it misses one. It needs a C compiler: see HasCompiler.
func NativeGuest() (string, error) { return engines["native"].guest() }

// Sanitized reports whether Guest has sanitizers. Such a worker does not seal itself, and
// less fits into its time and stack.
func Sanitized() bool { return os.Getenv(engineVariable) == "sanitize" }

func chosenEngine() (engine, error) {
	name := os.Getenv(engineVariable)
	e, ok := engines[name]
	if !ok {
		return e, fmt.Errorf("%s is %q, expected native, sanitize or nothing", engineVariable, name)
	}
	return e, nil
}

func (e engine) guest() (string, error) {
	return program(e.worker, func(path string) error { return goTool(e.build(path)) })
}

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

// nativeBuild are those for the worker of the native engine.
func nativeBuild(arguments ...string) []string {
	return append([]string{"run", "-pgo=off", module + "/guestrt/cmd/quoin-native"}, arguments...)
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
	return WriteExecutable(path, engineID.ReplaceAll(b, []byte("quickjs-ng-renamed/")))
}
