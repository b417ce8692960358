// Command arm64test runs tests of this module on an emulated arm64 machine, for make
// test-arm64: Debian's kernel for arm64 under qemu-system-aarch64. It needs Linux on
// amd64, apt-get and dpkg-deb, and no privileges.
//
// The emulator and the kernels come from Debian, at run time, into a directory of the
// user's cache; apt-get checks them by the signatures of Debian. Test binaries are
// compiled here and are put with the tracked files of the module into an
// initial file system. The machine has no disk, no network and no Go toolchain.
//
// main.go has the flags, plan.go what runs, debian.go fetches the emulator and the
// kernel, build.go compiles, filesystem.go makes the initial file system, emulator.go starts the machine
// and reads what it says, machine_linux.go is the machine's first process, go_tool.go
// what it has for a go command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// options are the flags.
type options struct {
	short  bool
	only   string // a regular expression of jobs
	run    string
	native bool
	kernel string
	update bool
	fetch  bool
	loud   bool
	wait   time.Duration
}

func main() {
	if isMachine() {
		beMachine()
	}
	if isGoCommand() {
		beGoCommand(os.Args[1:])
	}
	var o options
	flag.BoolVar(&o.short, "short", false, "run the chosen set that fits into a few minutes")
	flag.StringVar(&o.only, "only", "", "run the jobs whose names match this")
	flag.StringVar(&o.run, "run", "", "run the tests that match this, instead of those of the plan")
	flag.BoolVar(&o.native, "native", false, "run the tests of the native engine, with a C compiler that comes from Debian, too")
	flag.StringVar(&o.kernel, "kernel", "4k", "the kernel's pages: 4k or 16k")
	flag.BoolVar(&o.update, "update", false, "fetch the emulator and the kernel again")
	flag.BoolVar(&o.fetch, "fetch", false, "fetch what is missing, and run nothing")
	flag.BoolVar(&o.loud, "v", false, "show what tests say while they run")
	flag.DurationVar(&o.wait, "wait", 90*time.Minute, "how long the machine may run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "test-arm64:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	jobs, err := choose(o)
	if err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	d, err := debian(ctx, filepath.Join(cache, "quoin", "arm64"), o, out)
	if err != nil || o.fetch {
		return err
	}
	dir, err := os.MkdirTemp("", "quoin-arm64-")
	if err != nil {
		return err
	}
	b, err := newBuilder(ctx, dir, d, o.native)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.wait, fmt.Errorf("%v are over; -wait gives more", o.wait))
	defer cancel()
	t := &transcript{start: time.Now(), out: out, loud: o.loud}
	return errors.Join(runAll(ctx, d, b, jobs, t), os.RemoveAll(dir))
}

// runAll runs the jobs of the machine, and those that run without it.
func runAll(ctx context.Context, d distribution, b builder, jobs []job, t *transcript) error {
	var inside, outside []job
	for _, j := range jobs {
		if j.Addresses == 0 {
			inside = append(inside, j)
		} else {
			outside = append(outside, j)
		}
	}
	for _, j := range outside {
		if err := emulateProcess(ctx, d, b, j, t); err != nil {
			return err
		}
	}
	if len(inside) > 0 {
		files, err := fileSystem(ctx, b, inside, t)
		if err == nil {
			err = emulate(ctx, d, files, t)
		}
		if err != nil {
			return err
		}
	}
	return t.verdict(len(jobs))
}
