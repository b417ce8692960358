package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const modulePath = "github.com/quoinhq/quoin/"

// isGoCommand reports whether this is the go command of the machine.
func isGoCommand() bool { return os.Args[0] == "go" }

// beGoCommand does what tests ask of a toolchain: it hands out programs that were
// compiled before, and says where a package's files are.
func beGoCommand(args []string) {
	if err := goCommand(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func goCommand(args []string) error {
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-pgo=") })
	pkg := ""
	if len(args) > 0 {
		pkg = strings.TrimPrefix(strings.TrimPrefix(args[len(args)-1], modulePath), "./")
	}
	switch {
	case len(args) == 4 && args[0] == "run" && strings.HasSuffix(args[1], nativeTool) && args[2] == "-o":
		return handOut(job{Package: workerProgram, Program: true, Native: true}, args[3])
	case len(args) == 4 && args[0] == "run" && strings.HasSuffix(args[1], optimizeTool) && args[2] == "-o":
		return handOut(job{Package: workerProgram, Program: true}, args[3])
	case len(args) > 2 && args[0] == "build":
		if !strings.HasPrefix(args[len(args)-1], modulePath) {
			pkg = below(pkg)
		}
		return handOut(job{Package: pkg, Program: true}, after(args, "-o"))
	case len(args) > 2 && args[0] == "list" && args[1] == "-m":
		fmt.Println("/src")
		return nil
	case len(args) > 2 && args[0] == "list" && after(args, "-f") == "{{.Dir}}":
		fmt.Println("/src/" + pkg)
		return nil
	}
	return fmt.Errorf("go %s: this machine has no Go toolchain", strings.Join(args, " "))
}

// below is a package given relative to the working directory.
func below(pkg string) string {
	wd, err := os.Getwd()
	if err != nil {
		return pkg
	}
	return strings.TrimPrefix(filepath.Join(wd, pkg), "/src/")
}

// after is the argument that follows a flag.
func after(args []string, flag string) string {
	for i, a := range args[:len(args)-1] {
		if a == flag {
			return args[i+1]
		}
	}
	return ""
}

func handOut(j job, to string) error {
	b, err := os.ReadFile(j.binary())
	if err != nil {
		return fmt.Errorf("this machine has no Go toolchain, and no program %s: %w", j.Package, err)
	}
	return os.WriteFile(to, b, 0o755)
}
