package pluginbuild

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const demoManifest = `{"id": "demo", "version": "1", "protocol": 1, "command": "./demo"}`

// folder makes a plugin's folder of the files that are given; one named by
// anything else than the id, as checkouts are.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "check[out]")
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, files map[string]string) *Folder {
	t.Helper()
	f, err := Open(folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var goFiles = map[string]string{
	"plugin.json": demoManifest,
	"go.mod":      "module example.com/demo\n\ngo 1.26\n",
	"main.go":     "package main\n\nfunc main() {}\n",
	"words.txt":   "one",
	".cache/old":  "",
}

func with(files map[string]string, more ...string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out[name] = text
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// TestAGeneration: what was built is in a folder of its own, which later builds do
// not change, with what stands next to the sources; the author's is as it was.
func TestAGeneration(t *testing.T) {
	t.Parallel()
	f := open(t, goFiles)
	before := names(t, f.Dir)
	first := t.TempDir()
	found, err := f.Build(context.Background(), first)
	if err != nil {
		t.Fatal(err)
	}
	if found.ID() != "demo" || found.Manifest.Version != "1" || filepath.Dir(found.Dir) != first {
		t.Errorf("found %+v", found)
	}
	if b, err := os.ReadFile(filepath.Join(found.Dir, "words.txt")); err != nil || string(b) != "one" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Lstat(filepath.Join(found.Dir, ".cache")); !os.IsNotExist(err) {
		t.Errorf("hidden files are there: %v", err)
	}
	if after := names(t, f.Dir); after != before {
		t.Errorf("the author's folder has %s, had %s", after, before)
	}
	old, err := os.ReadFile(found.Executable())
	if err != nil {
		t.Fatal(err)
	}

	replace(t, f.Dir, "plugin.json", strings.Replace(demoManifest, `"1"`, `"2"`, 1))
	replace(t, f.Dir, "main.go", "package main\n\nfunc main() { println(2) }\n")
	again, err := f.Build(context.Background(), t.TempDir())
	if err != nil || again.Manifest.Version != "2" || f.Manifest.Version != "2" {
		t.Fatalf("%+v, %v", again, err)
	}
	now, err := os.ReadFile(again.Executable())
	if err != nil || string(now) == string(old) {
		t.Errorf("the new generation has the old binary (%v)", err)
	}
	if b, err := os.ReadFile(found.Executable()); err != nil || string(b) != string(old) {
		t.Errorf("the old generation has changed (%v)", err)
	}
}

func replace(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

// TestABuildCommand: the author's own command makes the binary, also where there
// are Go files, and is configured next to it.
func TestABuildCommand(t *testing.T) {
	t.Parallel()
	f := open(t, with(goFiles, "dev.json5", `{ build: ["go", "build", "-o", "demo", "."], config: { units: "metric" } }`))
	if !f.Builds() || string(f.Config) != `{"units":"metric"}` {
		t.Errorf("opened %+v", f)
	}
	found, err := f.Build(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(found.Executable()); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the binary is not the generation's own: %v, %v", info, err)
	}
}

// TestNothingToBuild: a folder in another language is loaded as it is.
func TestNothingToBuild(t *testing.T) {
	t.Parallel()
	f := open(t, map[string]string{"plugin.json": strings.Replace(demoManifest, "./demo", "bin/demo.sh", 1), "bin/demo.sh": "#!/bin/sh\n"})
	if f.Builds() {
		t.Error("there is something to build")
	}
	if found, err := f.Build(context.Background(), t.TempDir()); err != nil || found.Err != nil {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestChecksumsOfABuild: they are of another binary than the one that was built,
// and hold for one that was not.
func TestChecksumsOfABuild(t *testing.T) {
	t.Parallel()
	pinned := strings.Replace(demoManifest, `"command"`, `"sha256": {"`+runtime.GOOS+"/"+runtime.GOARCH+`": "`+strings.Repeat("0", 64)+`"}, "command"`, 1)
	found, err := open(t, with(goFiles, "plugin.json", pinned)).Build(context.Background(), t.TempDir())
	if err != nil || found.Manifest.SHA256 != nil {
		t.Errorf("built: %v, %v", found.Manifest.SHA256, err)
	}
	found, err = open(t, map[string]string{"plugin.json": pinned, "demo": "#!/bin/sh\n"}).Build(context.Background(), t.TempDir())
	if err != nil || len(found.Manifest.SHA256) != 1 {
		t.Errorf("not built: %v, %v", found.Manifest.SHA256, err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files  map[string]string
		output string // of a build that failed; "" for another error
		says   string
	}{
		"compiler":          {with(goFiles, "main.go", "package main\n\nfunc main() { nope() }\n"), "main.go:3:15: undefined: nope", ""},
		"command fails":     {with(goFiles, "dev.json5", `{ build: ["go", "no-such-command"] }`), "unknown command", ""},
		"no such command":   {with(goFiles, "dev.json5", `{ build: ["./no-such-program"] }`), "no-such-program", ""},
		"nothing was built": {map[string]string{"plugin.json": demoManifest, "dev.json5": `{ build: ["go", "version"] }`}, "", "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, tc.files).Build(context.Background(), t.TempDir())
			var failed *Error
			if isBuild := errors.As(err, &failed); isBuild != (tc.output != "") || err == nil || !strings.Contains(err.Error(), tc.output+tc.says) {
				t.Errorf("%T %v", err, err)
			}
		})
	}
}

// TestABuildIsBoundByItsContext: a build is killed when its context ends.
func TestABuildIsBoundByItsContext(t *testing.T) {
	t.Parallel()
	f := open(t, with(goFiles, "dev.json5", `{ build: ["go", "run", "."] }`, "main.go", "package main\n\nfunc main() { select {} }\n"))
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if _, err := f.Build(ctx, t.TempDir()); !errors.Is(err, why) {
		t.Errorf("%v; want %v", err, why)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		says  string
	}{
		"no manifest":  {map[string]string{"main.go": ""}, "quoin plugin new NAME makes one"},
		"bad manifest": {map[string]string{"plugin.json": "{"}, "not JSON"},
		"bad settings": {map[string]string{"plugin.json": demoManifest, "dev.json5": "{ build: 1 }"}, "build"},
		"unknown":      {map[string]string{"plugin.json": demoManifest, "dev.json5": "{ bild: [] }"}, "bild"},
		"long":         {map[string]string{"plugin.json": demoManifest, "dev.json5": strings.Repeat(" ", maxSettings+1)}, "longer than"},
	} {
		if _, err := Open(folder(t, tc.files)); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v; want %q", name, err, tc.says)
		}
	}
}

// TestAFileIsNoFolder: the manifest's own path is taken for what it is.
func TestAFileIsNoFolder(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"plugin.json": demoManifest})
	if _, err := Open(filepath.Join(dir, "plugin.json")); err == nil || !strings.Contains(err.Error(), "name the folder of the plugin, such as "+dir) {
		t.Errorf("%v", err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(name, []byte(strings.Repeat("ü", maxOutput)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readOutput(name); len(got) > maxOutput+8 || !strings.HasSuffix(got, "\n…") {
		t.Errorf("%d bytes", len(got))
	}
}

// TestBuildMissing: what is not there is built into the folder, once; what is there
// is not.
func TestBuildMissing(t *testing.T) {
	t.Parallel()
	f := open(t, with(goFiles, ".git/config", "", "main.go", "package main\n\nfunc main() {}\n"))
	for i, want := range []int{1, 0} {
		if built, err := f.BuildMissing(t.Context()); err != nil || len(built) != want {
			t.Errorf("%d: built %v, %v", i, built, err)
		}
	}
	if info, err := os.Stat(filepath.Join(f.Dir, "demo")); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the command is not there: %v, %v", info, err)
	}
	f = open(t, map[string]string{"plugin.json": demoManifest})
	if built, err := f.BuildMissing(t.Context()); len(built) > 0 || err != nil {
		t.Errorf("nothing can be built, but: %v, %v", built, err)
	}
	f = open(t, with(goFiles, "main.go", "package main\n\nfunc main() { nope() }\n"))
	var failed *Error
	if _, err := f.BuildMissing(t.Context()); !errors.As(err, &failed) {
		t.Errorf("%v; want the compiler's words", err)
	}
}

// TestBuildHere: what is there is built again, for each platform, but for a script.
func TestBuildHere(t *testing.T) {
	t.Parallel()
	const commands = `"command": {"linux/amd64": "bin/a", "linux/arm64": "bin/b", "windows/amd64": "run.sh"}`
	old := map[string]string{"bin/a": "old", "bin/b": "old", "run.sh": "#!/bin/sh\n"}
	files := with(goFiles, "main.go", "package main\n\nfunc main() {}\n", "plugin.json", strings.Replace(demoManifest, `"command": "./demo"`, commands, 1))
	maps.Copy(files, old)
	f := open(t, files)
	built, err := f.BuildHere(t.Context(), slices.Sorted(maps.Keys(f.Manifest.Binaries()))...)
	if err != nil || !slices.Equal(built, []string{"bin/a", "bin/b"}) {
		t.Fatalf("built %v, %v", built, err)
	}
	if built, err := f.BuildHere(t.Context(), "linux/amd64"); err != nil || len(built) > 0 {
		t.Errorf("what is as it was: %v, %v", built, err)
	}
	for name, before := range old {
		b, err := os.ReadFile(filepath.Join(f.Dir, name))
		if stale := string(b) == before; err != nil || stale != (name == "run.sh") {
			t.Errorf("%s is as before: %v, %v", name, stale, err)
		}
	}
}

// TestSecretsInDevelopment: dev.json5 says where secrets are, and what is wrong with
// that is reported by its place, without the text.
func TestSecretsInDevelopment(t *testing.T) {
	f := open(t, map[string]string{"plugin.json": demoManifest, "dev.json5": `{ secrets: { token: "env:DEMO_TOKEN" } }`})
	t.Setenv("DEMO_TOKEN", "sesame")
	if got, err := f.Secrets["token"](); got != "sesame" || err != nil || len(f.Secrets) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	_, err := Open(folder(t, map[string]string{"plugin.json": demoManifest, "dev.json5": "{\n  secrets: { token: \"hunter2\" } }"}))
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "dev.json5:2:") || !strings.Contains(err.Error(), "env:NAME") {
		t.Errorf("%v", err)
	}
}
