package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// builder compiles what jobs run, one program at a time.
type builder struct {
	dir       string
	optimizer string   // builds the worker of the default engine
	env       []string // of the Go tool when it builds the native engine
}

// writeCompiler makes a script that is the C compiler for arm64. That lies in a tree
// of its own, which takes the place of /usr in a namespace that ends with it; what Go
// and its user have there stays visible.
func writeCompiler(ctx context.Context, script, tree string) error {
	said, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	var mounts strings.Builder
	for _, dir := range []string{"/usr/local", strings.TrimSpace(string(said))} {
		if !strings.HasPrefix(dir, "/usr/") {
			continue
		}
		if err := os.MkdirAll(tree+dir, 0o755); err != nil {
			return err
		}
		fmt.Fprintf(&mounts, "mount --rbind %[2]s %[1]s%[2]s && ", tree, dir)
	}
	text := fmt.Sprintf("#!/bin/sh\nexec unshare --user --map-root-user --mount sh -c '%smount --rbind %s/usr /usr && exec aarch64-linux-gnu-gcc \"$@\"' cc \"$@\"\n",
		mounts.String(), tree)
	return os.WriteFile(script, []byte(text), 0o755)
}

// The programs that build workers of the two engines.
const (
	optimizeTool = "guestrt/cmd/quoin-optimize"
	nativeTool   = "guestrt/cmd/quoin-native"
)

// The options of nativeTool for the Go tool, for tests.
const (
	nativeTags  = "quickjs_c,netgo,osusergo"
	nativeFlags = "-buildid= -linkmode external -extldflags '-static -no-pie'"
)

func newBuilder(ctx context.Context, dir string, d distribution, native bool) (builder, error) {
	b := builder{dir: dir, optimizer: filepath.Join(dir, "quoin-optimize")}
	if err := command(ctx, nil, "go", "build", "-pgo=off", "-o", b.optimizer, "./"+optimizeTool); err != nil || !native {
		return b, err
	}
	cc := filepath.Join(dir, "aarch64-cc")
	if err := writeCompiler(ctx, cc, d.compiler); err != nil {
		return b, err
	}
	tool := filepath.Join(dir, "quoin-native")
	if err := command(ctx, nil, "go", "build", "-pgo=off", "-o", tool, "./"+nativeTool); err != nil {
		return b, err
	}
	b.env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CC="+cc)
	cmd := exec.CommandContext(ctx, tool, "env")
	cmd.Env, cmd.Stderr = b.env, os.Stderr
	said, err := cmd.Output()
	if err != nil {
		return b, fmt.Errorf("quoin-native env: %w", err)
	}
	for line := range strings.Lines(string(said)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !ok {
			return b, fmt.Errorf("quoin-native env says %q", line)
		}
		b.env = append(b.env, name+"="+strings.Trim(value, "'"))
	}
	return b, nil
}

// program is what was compiled last.
func (b builder) program() string { return filepath.Join(b.dir, "program") }

// compile compiles a job's program.
func (b builder) compile(ctx context.Context, j job, t *transcript) error {
	t.printf("compiling %s", strings.TrimPrefix(j.binary(), "/programs/"))
	args := []string{"build"}
	if !j.Program {
		args = []string{"test", "-c"}
	}
	args = append(args, "-pgo=off", "-buildvcs=false", "-buildmode=exe", "-o", b.program())
	env := append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if j.Package == workerProgram && !j.Native {
		return command(ctx, env, b.optimizer, "-o", b.program())
	}
	flags := "-buildid="
	if j.Native {
		env, flags = b.env, nativeFlags
		args = append(args, "-tags", nativeTags)
	}
	return command(ctx, env, "go", append(args, "-ldflags", flags, "./"+j.Package)...)
}
