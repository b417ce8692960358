package typescript

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Check fails t with the compiler's complaints unless it accepts files. Their
// keys are relative paths such as "tools/echo.d.ts".
func Check(t testing.TB, files map[string]string) {
	t.Helper()
	if said := Complaints(t, files); said != "" {
		t.Errorf("TypeScript rejects the files:\n%s", said)
	}
}

// Compiler returns the path of the compiler. Where it is not built the test is left out
// from here on.
func Compiler(t testing.TB) string {
	t.Helper()
	compiler, err := Find()
	if errors.Is(err, ErrNotBuilt) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return compiler
}

// Complaints returns what the compiler says against files, one line for each
// complaint as "path(line,column): error TSn: text", or "" if it accepts them.
// It ends the test if there is no compiler: the test fails if it may build one, and
// is left out from here on otherwise.
func Complaints(t testing.TB, files map[string]string) string {
	t.Helper()
	compiler := Compiler(t)
	dir := t.TempDir()
	args := []string{"--noEmit", "--strict", "--pretty", "false", "--target", "es2023", "--lib", "es2023",
		"--module", "esnext", "--moduleDetection", "force", "--types", ""}
	var names []string
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	cmd := exec.Command(compiler, append(args, names...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("running %s: %v", compiler, err)
	}
	said := strings.TrimSpace(string(out))
	if err != nil && said == "" {
		t.Fatalf("%s: %v, without a word", compiler, err)
	}
	return said
}
