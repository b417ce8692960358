package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// worker is the package of the guest worker.
const worker = "github.com/quoinhq/quoin/guestrt/cmd/quoin-guest"

// plainBuild is what an operator runs where the optimiser cannot.
const plainBuild = "CGO_ENABLED=0 go build -trimpath -o quoin-guest " + worker

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "quoin-optimize: %v\nquoin-optimize: a slower worker that does the same: %s\n", err, plainBuild)
		os.Exit(1)
	}
}

func command(args []string) error {
	flags := flag.NewFlagSet("quoin-optimize", flag.ExitOnError)
	out := flags.String("o", filepath.Join("bin", "quoin-guest"), "write the worker to this `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 1 || flags.NArg() == 1 && flags.Arg(0) != "flags" {
		return fmt.Errorf("unknown command %q, expected flags or nothing", strings.Join(flags.Args(), " "))
	}
	b, err := prepare()
	if err != nil {
		return err
	}
	if flags.NArg() == 1 {
		if err := b.fetch(); err != nil {
			return err
		}
		fmt.Println(strings.Join(b.flags(), " "))
		return nil
	}
	return b.worker(*out)
}

// build is what the Go tool needs to use the rewritten library.
type build struct {
	modfile string   // the main module's go.mod with the library replaced
	env     []string // how the proxy is found
}

func (b build) flags() []string { return []string{"-mod=mod", "-modfile=" + b.modfile} }

// worker builds the guest worker. Its hash names the snapshots it can read, so that
// it must not depend on the directory, the machine or the state of the checkout.
func (b build) worker(out string) error {
	args := append([]string{"build"}, b.flags()...)
	args = append(args, "-trimpath", "-buildvcs=false", "-buildmode=exe", "-ldflags=-buildid=", "-o", out, worker)
	return b.run(args...)
}

// fetch brings the rewritten library into the module cache, where the flags alone
// find it.
func (b build) fetch() error {
	return b.run(append(append([]string{"list"}, b.flags()...), "-f", "{{with .Error}}{{.}}{{end}}", libraryModule)...)
}

func (b build) run(args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), b.env...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", args[0], err)
	}
	return nil
}
