package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// worker is the package of the guest worker, which is the same for every engine.
const worker = "github.com/quoinhq/quoin/guestrt/cmd/quoin-guest"

// tags select the native engine, and what a static executable needs.
const tags = "quickjs_c,netgo,osusergo"

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "quoin-native:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	flags := flag.NewFlagSet("quoin-native", flag.ExitOnError)
	out := flags.String("o", filepath.Join("bin", "quoin-guest-native"), "write the worker to this `file`")
	sanitize := flags.Bool("sanitize", false, "build with AddressSanitizer and UndefinedBehaviorSanitizer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if runtime.GOOS != "linux" || target() != "amd64" && target() != "arm64" {
		return fmt.Errorf("the native engine runs on linux/amd64 and linux/arm64, not on %s/%s", runtime.GOOS, target())
	}
	l, err := buildLibrary(*sanitize, patches)
	if err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "":
		return l.buildWorker(*out)
	case "env":
		for _, v := range l.env() {
			name, value, _ := strings.Cut(v, "=")
			fmt.Printf("export %s='%s'\n", name, value)
		}
		return nil
	}
	return fmt.Errorf("unknown command %q, expected env or nothing", flags.Arg(0))
}

// env are the variables with which the Go tool finds the library.
func (l *library) env() []string {
	return []string{
		"CGO_ENABLED=1",
		"CGO_CFLAGS=-O2 -g0 -I" + l.dir + " " + strings.Join(l.protection(), " "),
		"CGO_LDFLAGS=" + l.static() + "-L" + l.dir + " -l" + libraryName + " -lm " + strings.Join(l.shared(), " "),
	}
}

// static links the C library in, as a worker needs it: also a test binary that serves as its
// own worker.
func (l *library) static() string {
	if l.sanitize {
		return ""
	}
	return "-static "
}

// shared are the options that compiler and linker both need.
func (l *library) shared() []string {
	if l.sanitize {
		return []string{"-fsanitize=address,undefined"}
	}
	return nil
}

// tags select what is built. A worker that is built with sanitizers does not seal itself.
func (l *library) tags() string {
	if l.sanitize {
		return tags + ",quickjs_sanitize"
	}
	return tags
}

// protection are the options for what the Go tool compiles.
func (l *library) protection() []string {
	if l.sanitize {
		return l.shared()
	}
	return hardening()
}

// linkFlags make an executable that images can rely on: at fixed addresses, and with
// its C library inside.
func (l *library) linkFlags() string {
	return "-buildid= -linkmode external -extldflags '" + l.static() +
		"-no-pie -Wl,--build-id=none,--gc-sections," + linkHardening + "'"
}

// buildWorker links the worker with the library.
func (l *library) buildWorker(out string) error {
	err := run("", append(os.Environ(), l.env()...), "go", "build", "-trimpath", "-buildvcs=false", "-buildmode=exe",
		"-pgo=off", "-tags", l.tags(), "-ldflags", l.linkFlags(), "-o", out, worker)
	if err != nil || l.sanitize {
		return err
	}
	const function = "qn_init" // of the shim
	if err := checkHardening(out, function); err != nil {
		return errors.Join(err, os.Remove(out))
	}
	return nil
}
