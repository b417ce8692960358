// Command typecheck checks that the module compiles on other platforms, without compiling
// it: it type-checks every package with its tests, and all that they import, from source.
//
//	typecheck GOOS/GOARCH...
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

// needed is what has packages read from source, so that nothing is compiled.
const needed = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
}

func run(platforms []string) error {
	for _, p := range platforms {
		system, arch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("%q is no platform, expected GOOS/GOARCH", p)
		}
		pkgs, err := packages.Load(&packages.Config{
			Mode: needed, Tests: true,
			Env: append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=-pgo=off"),
		}, "./...")
		if err != nil {
			return err
		}
		if n := packages.PrintErrors(pkgs); n > 0 {
			return fmt.Errorf("%s: %d errors", p, n)
		}
		fmt.Printf("typecheck: %s: %d packages and tests\n", p, len(pkgs))
	}
	return nil
}
