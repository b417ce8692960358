//go:build unix

package peers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/gomodule"
)

// Modules that carry the peers in C and the V8-v7 set. Nothing of them is part of
// this module; each is fetched when the benchmark runs, by its checksum.
var (
	ngModule      = module{"github.com/buke/quickjs-go", "v0.7.7", "h1:kuG3d0Vnn7LBvO64vgW+fwSZ5E3XK5pcYDttiIYmatw="}
	bellardModule = module{"github.com/buke/quickjs-go", "v0.6.8", "h1:0FF6Yk1PcJGJ+npeFG7597rI1dCpaNEJE83Dpb7JgrE="}
	setModule     = module{"modernc.org/quickjs", "v0.27.0", "h1:vgXiODiy70XE6Zk9BXv1jQXNOhXhHA/fh6FLBfX1Y00="}
)

type module struct{ path, version, sum string }

// fetch returns the folder of the module's files.
func (m module) fetch() (string, error) { return gomodule.Fetch(m.path, m.version, m.sum) }

// findNative builds this test with the native engine.
func findNative(b *testing.B) (peer, error) {
	b.Helper()
	p := peer{name: "native", short: true}
	out, err := exec.Command("go", "run", "github.com/quoinhq/quoin/guestrt/cmd/quoin-native", "env").Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, e.Stderr)
		}
		return p, fmt.Errorf("quoin-native env: %w", err)
	}
	exe := filepath.Join(b.TempDir(), "native.test")
	build := exec.Command("go", "test", "-c", "-tags", "quickjs_c,netgo,osusergo", "-trimpath", "-o", exe, ".")
	build.Env = os.Environ()
	for line := range strings.Lines(string(out)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if ok {
			build.Env = append(build.Env, name+"="+strings.Trim(value, "'"))
		}
	}
	if out, err := build.CombinedOutput(); err != nil {
		return p, fmt.Errorf("it does not build: %w\n%s", err, out)
	}
	p.run = func(b *testing.B, cell string, n int) figure {
		cmd := exec.Command(exe, "-test.run", "^$", "-test.bench", "^BenchmarkCell$", "-test.benchtime", "1x")
		cmd.Env = append(os.Environ(), runCell+"="+cell, runCell+"_TIMES="+strconv.Itoa(n))
		return readFigure(b, cmd)
	}
	return p, nil
}

// findC builds QuickJS-ng from its source in C, as its own qjs is built but for
// the program around it.
func findC(b *testing.B) (peer, error) {
	b.Helper()
	p := peer{name: "C QuickJS-ng 0.15.1"}
	dir, err := ngModule.fetch()
	if err != nil {
		return p, err
	}
	source := filepath.Join(dir, "deps", "quickjs")
	args := []string{"-O2", "-DNDEBUG", "-D_GNU_SOURCE", "-w", "-I" + source}
	for _, name := range []string{"quickjs.c", "dtoa.c", "libregexp.c", "libunicode.c"} {
		args = append(args, filepath.Join(source, name))
	}
	return p.compiled(b, args)
}

// findBellard links Bellard's QuickJS, which a module carries as a library.
func findBellard(b *testing.B) (peer, error) {
	b.Helper()
	p := peer{name: "C QuickJS of Bellard"}
	dir, err := bellardModule.fetch()
	if err != nil {
		return p, err
	}
	deps := filepath.Join(dir, "deps")
	library := filepath.Join(deps, "libs", runtime.GOOS+"_"+runtime.GOARCH, "libquickjs.a")
	return p.compiled(b, []string{"-O2", "-D_GNU_SOURCE", "-w", "-I" + filepath.Join(deps, "include"), library})
}

// compiled compiles the driver with the library that the arguments name.
func (p peer) compiled(b *testing.B, args []string) (peer, error) {
	b.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		return p, fmt.Errorf("no C compiler: %w", err)
	}
	exe := filepath.Join(b.TempDir(), "driver")
	args = append([]string{"-o", exe, filepath.Join("testdata", "driver.c")}, args...)
	if out, err := exec.Command(cc, append(args, "-lm", "-lpthread", "-ldl")...).CombinedOutput(); err != nil {
		return p, fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	return p.started(exe), nil
}

// started returns the peer with cells that the program runs.
func (p peer) started(exe string) peer {
	p.run = func(b *testing.B, cell string, n int) figure {
		return readFigure(b, exec.Command(exe, cell, strconv.Itoa(n)))
	}
	return p
}

// findGo builds a program with quickjs-go, QuickJS-ng in C behind cgo.
func findGo(b *testing.B) (peer, error) {
	b.Helper()
	p := peer{name: "quickjs-go " + ngModule.version}
	if _, err := ngModule.fetch(); err != nil {
		return p, err
	}
	dir := b.TempDir()
	for name, text := range map[string]string{
		"main.go": string(must(os.ReadFile("testdata/quickjsgo/main.go"))(b)),
		"go.mod":  fmt.Sprintf("module peer\n\ngo 1.26\n\nrequire %s %s\n", ngModule.path, ngModule.version),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "peer", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return p, fmt.Errorf("it does not build: %w\n%s", err, out)
	}
	return p.started(filepath.Join(dir, "peer")), nil
}

// set lists the programs of the V8-v7 set and how often one cell runs each.
var set = []struct {
	name string
	runs int
}{
	{"richards", 20}, {"deltablue", 15}, {"crypto", 1}, {"raytrace", 2},
	{"earley-boyer", 1}, {"regexp", 1}, {"splay", 20}, {"navier-stokes", 1},
}

// writeSet fetches the V8-v7 set and makes one cell of each program: its setup, so
// many runs of it, and its end. The result says how many runs there were.
func writeSet(b *testing.B) []string {
	b.Helper()
	dir, err := setModule.fetch()
	if err != nil {
		b.Skipf("the V8-v7 set is LEFT OUT: %v", err)
	}
	dir = filepath.Join(dir, "internal", "arewefastyet", "v8-v7")
	base := must(os.ReadFile(filepath.Join(dir, "base.js")))(b)
	out := b.TempDir()
	var cells []string
	for _, s := range set {
		program := must(os.ReadFile(filepath.Join(dir, s.name+".js")))(b)
		cell := filepath.Join(out, s.name+".js")
		text := fmt.Sprintf("%s\n%s\nlet runs = 0;\nfor (const s of BenchmarkSuite.suites) for (const b of s.benchmarks) {\n"+
			"  b.Setup(); for (let i = 0; i < %d; i++, runs++) b.run(); b.TearDown();\n}\nreturn runs;\n", base, program, s.runs)
		if err := os.WriteFile(cell, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		cells = append(cells, cell)
	}
	return cells
}
