package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// consumerModule is a module of someone else's that builds the native worker.
const consumerModule = `module example.com/consumer

go 1.26.0

require github.com/quoinhq/quoin v0.0.1

tool (
	github.com/quoinhq/quoin/guestrt/cmd/quoin-guest
	github.com/quoinhq/quoin/guestrt/cmd/quoin-native
)
`

// TestAnotherModuleBuildsTheWorker builds it from a module cache that holds this
// module as a proxy would serve it, and then from a vendor directory.
func TestAnotherModuleBuildsTheWorker(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the worker twice, half a minute; make test-all runs it")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the native engine runs on Linux")
	}
	if _, err := compiler(); err != nil {
		t.Skip(err)
	}
	c := consumer{t: t, dir: t.TempDir()}
	c.env = append(os.Environ(), "GOMODCACHE="+t.TempDir(), "GOFLAGS=-modcacherw -pgo=off", "GOSUMDB=off", "GOWORK=off",
		"GOPROXY="+strings.Join([]string{serve(t), "file://" + output(t, "go", "env", "GOMODCACHE") + "/cache/download", output(t, "go", "env", "GOPROXY")}, ","))
	if err := os.WriteFile(filepath.Join(c.dir, "go.mod"), []byte(consumerModule), 0o600); err != nil {
		t.Fatal(err)
	}
	c.run("go", "mod", "tidy")
	c.buildWorker("from-cache")
	c.run("go", "mod", "vendor")
	c.buildWorker("from-vendor")
}

type consumer struct {
	t   *testing.T
	dir string
	env []string
}

// buildWorker builds a worker and starts it, which it refuses in its own words.
func (c consumer) buildWorker(name string) {
	c.t.Helper()
	c.run("go", "tool", "quoin-native", "-o", name)
	out, err := exec.Command(filepath.Join(c.dir, name)).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("started by a Quoin host")) {
		c.t.Errorf("%s: %v, %s", name, err, out)
	}
}

func (c consumer) run(name string, args ...string) {
	c.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// serve lays out the committed state of this module, without those nested in it, as a
// module proxy does.
func serve(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("this is no checkout: ", err)
	}
	dir := t.TempDir()
	versions := filepath.Join(dir, "github.com/quoinhq/quoin/@v")
	if err := os.MkdirAll(versions, 0o700); err != nil {
		t.Fatal(err)
	}
	goMod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"list":        []byte("v0.0.1\n"),
		"v0.0.1.mod":  goMod,
		"v0.0.1.info": []byte(`{"Version":"v0.0.1","Time":"2026-01-01T00:00:00Z"}`),
	} {
		if err := os.WriteFile(filepath.Join(versions, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := slices.Clip([]string{"-c", "safe.directory=*", "-C", root})
	archive := append(git, "archive", "--format=zip", "-1", "--prefix=github.com/quoinhq/quoin@v0.0.1/",
		"-o", filepath.Join(versions, "v0.0.1.zip"), "HEAD", ".")
	for nested := range strings.Lines(output(t, "git", append(git, "ls-files", "*/go.mod")...)) {
		archive = append(archive, ":!"+filepath.Dir(strings.TrimSpace(nested)))
	}
	output(t, "git", archive...)
	return "file://" + dir
}

// output runs a program and returns what it says, without the line's end.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}
