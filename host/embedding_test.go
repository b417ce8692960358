package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	programBlock = regexp.MustCompile("(?s)```go\n(package main.*?)```\n\n```text\n(.*?)```")
	exampleNamed = regexp.MustCompile("`(Example\\w*)` in \\[[^\\]]*\\]\\(\\.\\./\\.\\./([^)]*)\\)")
)

// TestEmbeddingPage builds every program of docs/guide/embedding.md, runs it, and compares
// what it prints with the page. The examples that the page names exist.
func TestEmbeddingPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/guide/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := programBlock.FindAllSubmatch(page, -1)
	if all := strings.Count(string(page), "```go\n"); len(programs) != all || all < 2 {
		t.Fatalf("%d of %d Go blocks are programs with their output", len(programs), all)
	}
	for i, p := range programs {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			if got := runProgram(t, p[1]); got != string(p[2]) {
				t.Errorf("it prints %q, and the page says %q", got, p[2])
			}
		})
	}
	examples := exampleNamed.FindAllStringSubmatch(string(page), -1)
	if len(examples) < 5 {
		t.Fatalf("%d examples are named", len(examples))
	}
	for _, e := range examples {
		text, err := os.ReadFile(filepath.Join("..", e[2]))
		if err != nil || !strings.Contains(string(text), "func "+e[1]+"() {") {
			t.Errorf("%s has no %s: %v", e[2], e[1], err)
		}
	}
}

// buildProgram builds a program as a package of this module and returns its path.
func buildProgram(t *testing.T, source []byte) string {
	t.Helper()
	dir := t.TempDir()
	file, overlay, exe := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program")
	at, err := filepath.Abs("pageprogram/main.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(map[string]map[string]string{"Replace": {at: file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{file: source, overlay: doc} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := osexec.Command("go", "build", "-pgo=off", "-overlay", overlay, "-o", exe, "./pageprogram")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

// runProgram builds a program and returns what it prints.
func runProgram(t *testing.T, source []byte) string {
	t.Helper()
	var stderr strings.Builder
	cmd := osexec.Command(buildProgram(t, source))
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return string(out)
}
