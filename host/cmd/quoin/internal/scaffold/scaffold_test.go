package scaffold

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
)

// checkout is the module that this test is in.
func checkout(t *testing.T) Source {
	t.Helper()
	s, err := FindSource("../../../../..", ".")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs the go command in a folder, without the network and without leave to
// change go.mod.
func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestAScaffoldIsWhole: what is made builds, is tidy, loads and passes its tests,
// also with a name that is not an identifier.
func TestAScaffoldIsWhole(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "road-works")
	made, err := Create(context.Background(), Options{ID: "road-works", Dir: dir, Source: checkout(t)})
	if err != nil {
		t.Fatal(err)
	}
	if made.Global != "RoadWorks" || made.Tool != "road_works" {
		t.Errorf("names %+v", made.Names)
	}
	if last := made.Notes[len(made.Notes)-1]; strings.Contains(last, "go mod tidy failed") {
		t.Fatalf("on a machine that has never made a plugin this test needs the Go module proxy, once: %s", last)
	}
	run(t, dir, "vet", "./...")
	run(t, dir, "mod", "tidy", "-diff")
	run(t, dir, "test", "-count=1", "./...")
	run(t, dir, "build", "-o", "road-works", ".")
	if f := plugins.Find(dir); f.Err != nil {
		t.Errorf("a host would refuse the folder: %v", f.Err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || strings.Contains(string(b), "exclude") {
		t.Errorf("go.mod excludes what it does not reach (%v):\n%s", err, b)
	}
	for _, name := range []string{"main.go", "main_test.go", "dev.ts", "plugin.json", "README.md", ".gitignore", "go.mod", "go.sum", "testdata/greet.ts"} {
		if !slices.Contains(made.Files, name) {
			t.Errorf("there is no %s in %v", name, made.Files)
		}
	}
	if !slices.ContainsFunc(made.Notes, func(n string) bool { return strings.Contains(n, checkout(t).Dir) }) {
		t.Errorf("the notes do not say which checkout is used: %q", made.Notes)
	}
}

// TestAnUntidyModuleBuilds: where nothing can be tidied, the checkout's choice of
// modules serves.
func TestAnUntidyModuleBuilds(t *testing.T) {
	t.Setenv("PATH", "") // there is no go command
	dir := filepath.Join(t.TempDir(), "plain")
	made, err := Create(context.Background(), Options{ID: "plain", Dir: dir, Source: checkout(t)})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(made.Notes[len(made.Notes)-1], "go mod tidy failed") {
		t.Errorf("the notes do not say that it is not tidy: %q", made.Notes)
	}
	t.Setenv("PATH", goPath)
	run(t, dir, "build", "-o", os.DevNull, ".")
}

// goPath is where the go command is found.
var goPath = os.Getenv("PATH")

func TestARelease(t *testing.T) {
	t.Setenv("PATH", "")
	dir := filepath.Join(t.TempDir(), "plain")
	_, err := Create(context.Background(), Options{ID: "plain", Dir: dir, Module: "example.org/plain", Source: Source{Version: "v1.2.3"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if want := "module example.org/plain\n\ngo 1.26.0\n\nrequire github.com/quoinhq/quoin v1.2.3\n"; err != nil || string(got) != want {
		t.Errorf("go.mod is %q (%v), want %q", got, err, want)
	}
}

// TestTheLeastGo: the version that a release's plugins ask for is the version in go.mod.
func TestTheLeastGo(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if m := goLine.FindSubmatch(b); m == nil || string(m[1]) != goVersion {
		t.Errorf("go.mod says %s, want %s", m, goVersion)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]Names{
		"weather":      {"weather", "weather", "Weather"},
		"road-works-2": {"road-works-2", "road_works_2", "RoadWorks2"},
		"map":          {"map", "map", "MapPlugin"}, // Map is a standard global
	} {
		got, err := NamesOf(id)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", id, got, err, want)
		}
		if namespaces.IsReserved(got.Global) || !namespaces.IsIdentifier(got.Global) {
			t.Errorf("%s: the global %s will not do", id, got.Global)
		}
	}
	for id, hint := range map[string]string{
		"": `"weather"`, "Weather": `"weather"`, "my plugin": `"my-plugin"`, "../up": `"up"`, "9lives": `"lives"`,
		"a--b": `"a-b"`, "ends-": `"ends"`, "core": `"my-core"`, strings.Repeat("x", 64): strings.Repeat("x", 63),
	} {
		if _, err := NamesOf(id); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q: %v; want a refusal that suggests %s", id, err, hint)
		}
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Create(context.Background(), Options{ID: "weather", Dir: dir, Source: checkout(t)})
	if err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("%v; want a refusal", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("the folder has %v (%v)", entries, err)
	}
}

// TestAFailureLeavesNothing: a folder that cannot be filled is not left behind.
func TestAFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "weather")
	if _, err := Create(context.Background(), Options{ID: "weather", Dir: dir, Source: Source{Dir: t.TempDir()}}); err == nil {
		t.Error("a checkout without go.mod was taken")
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("something is left: %v", err)
	}
	_, err := Create(context.Background(), Options{ID: "weather", Dir: dir, Language: "cobol", Source: checkout(t)})
	if err == nil || !strings.Contains(err.Error(), "expected one of go") {
		t.Errorf("%v; want a list of languages", err)
	}
}

func TestEveryLanguageCanBeFinished(t *testing.T) {
	t.Parallel()
	for _, l := range Languages() {
		if finishers[l] == nil {
			t.Errorf("the templates of %s have no finisher", l)
		}
	}
}

func TestFindSource(t *testing.T) {
	t.Parallel()
	s, err := FindSource("", t.TempDir())
	if err != nil || s.Version != "" || !isCheckout(s.Dir) {
		t.Errorf("%+v, %v; want the checkout of this test", s, err)
	}
	if _, err := FindSource(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "not a checkout") {
		t.Errorf("%v; want a refusal", err)
	}
	if got := checkoutAbove(t.TempDir()); got != "" {
		t.Errorf("found %s where none is", got)
	}
}

func TestReleased(t *testing.T) {
	t.Parallel()
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123"}}
	for _, tc := range []struct {
		main     debug.Module
		settings []debug.BuildSetting
		want     string
	}{
		{debug.Module{Path: Module, Version: "v1.2.3"}, nil, "v1.2.3"},
		{debug.Module{Path: Module, Version: "v1.2.3-rc.1"}, nil, "v1.2.3-rc.1"},
		{debug.Module{Path: Module, Version: "(devel)"}, nil, ""},
		{debug.Module{Path: Module, Version: "v1.2.3+dirty"}, nil, ""},
		{debug.Module{Path: Module, Version: "v0.0.0-20260102030405-0123456789ab"}, nil, ""},
		{debug.Module{Path: Module, Version: "v1.2.3"}, vcs, ""},
		{debug.Module{Path: "example.com/gateway", Version: "v1.2.3"}, nil, ""},
	} {
		if got := released(&debug.BuildInfo{Main: tc.main, Settings: tc.settings}); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.main, got, tc.want)
		}
	}
}
