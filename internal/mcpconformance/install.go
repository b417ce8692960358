package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// What is installed. The suite needs a Node that has fs.globSync.
const (
	suitePackage = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
	nodeVersion  = "22.23.3"
	leastNode    = 22
)

// suite is an installed conformance suite.
type suite struct{ dir, node, script string }

// install puts the suite into a directory, and a Node if the machine's Node is too old.
func install(ctx context.Context, dir string, out io.Writer) (*suite, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, errors.New("npm is not installed; the suite is a package of its registry")
	}
	start := time.Now()
	packages := []string{suitePackage}
	node, err := exec.LookPath("node")
	if err != nil || major(ctx, node) < leastNode {
		name := nodePackage()
		packages = append(packages, name+"@"+nodeVersion)
		node = filepath.Join(dir, "node_modules", name, "bin", "node")
	}
	// npm installs where the nearest package.json is. A --prefix would move its global
	// configuration too, which has the certificates of a machine behind a proxy.
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}\n"), 0o600); err != nil {
		return nil, err
	}
	args := []string{"install", "--no-audit", "--no-fund", "--no-save", "--loglevel", "error", "--ignore-scripts"}
	cmd := exec.CommandContext(ctx, npm, append(args, packages...)...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm install: %w\n%s", err, said)
	}
	s := &suite{dir: dir, node: node, script: filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")}
	if n := major(ctx, node); n < leastNode {
		return nil, fmt.Errorf("%s is Node %d, the suite needs %d", node, n, leastNode)
	}
	fmt.Fprintf(out, "mcp-conformance: %s installed in %s\n", suitePackage, time.Since(start).Round(time.Second))
	return s, nil
}

// nodePackage is the package that has the Node of this platform, and runs no script
// when it is installed.
func nodePackage() string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	return "node-" + runtime.GOOS + "-" + cmp.Or(arch, runtime.GOARCH)
}

// major is the major version of a Node, or 0.
func major(ctx context.Context, node string) int {
	said, err := exec.CommandContext(ctx, node, "--version").Output()
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(said), "v"), ".")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return n
}

// buildClient builds the program that the client legs start, once per scenario.
func (s *suite) buildClient(ctx context.Context) (path string, err error) {
	path = filepath.Join(s.dir, "client")
	said, err := exec.CommandContext(ctx, "go", "build", "-pgo=off", "-o", path, "./internal/mcpconformance/client").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the client: %w\n%s", err, said)
	}
	return path, nil
}

// run runs the suite and returns all it said.
func (s *suite) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.node, append([]string{s.script}, args...)...)
	cmd.Dir = s.dir // it writes its results where it runs
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
