//go:build linux

package plugins

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/plugins/manifest"
)

func TestSkippedDirs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"plugin", "leftover", ".hidden"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", filepath.Join("plugin", manifest.Name)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := SkippedDirs(dir); err != nil || !slices.Equal(got, []string{"leftover"}) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := SkippedDirs(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a directory that is not there has folders")
	}
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "good", "good")
	writeFile(t, filepath.Join(dir, "broken", manifest.Name), `{`)
	writeFile(t, filepath.Join(dir, "renamed", manifest.Name), `{"id": "original", "version": "1", "protocol": 2, "command": "x"}`)
	writeFile(t, filepath.Join(dir, "unbuilt", manifest.Name), `{"id": "unbuilt", "version": "1", "protocol": 2, "command": "./unbuilt"}`)
	writeFile(t, filepath.Join(dir, "text", manifest.Name), `{"id": "text", "version": "1", "protocol": 2, "command": "./text"}`)
	writeFile(t, filepath.Join(dir, "text", "text"), "not executable")
	writeFile(t, filepath.Join(dir, "folder", manifest.Name), `{"id": "folder", "version": "1", "protocol": 2, "command": "./folder"}`)
	if err := os.Mkdir(filepath.Join(dir, "folder", "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere(t, dir, "other-sum", `"command": "./x", "sha256": {"plan9/mips": "`+strings.Repeat("a", 64)+`"}`)
	elsewhere(t, dir, "other-command", `"command": {"plan9/mips": "./x"}`)
	elsewhere(t, dir, "no-files", `"command": "./x", "files": ["templates"]`)
	writeFile(t, filepath.Join(dir, "notes", "README"), "no plugin")
	writeFile(t, filepath.Join(dir, ".hidden", manifest.Name), `{`)
	writeFile(t, filepath.Join(dir, "a-file"), "")

	found, err := Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ id, says string }{
		{"broken", "not JSON"},
		{"folder", "not a file"},
		{"good", ""},
		{"no-files", `"files"`},
		{"other-command", manifest.HostPlatform()},
		{"other-sum", manifest.HostPlatform()},
		{"renamed", `"original" stands in a folder named "renamed"`},
		{"text", "chmod +x"},
		{"unbuilt", "build the plugin"},
	}
	if len(found) != len(want) {
		t.Fatalf("found %d folders, want %d: %v", len(found), len(want), found)
	}
	for i, w := range want {
		f := found[i]
		if f.ID() != w.id || (f.Err == nil) != (w.says == "") {
			t.Errorf("%s: %v", f.ID(), f.Err)
			continue
		}
		if f.Err != nil {
			wantParts(t, f.Err.Error(), w.says)
		}
	}
	if _, err := Discover(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a missing directory was accepted")
	}
}

// elsewhere makes a folder with an executable x and a manifest of these fields.
func elsewhere(t *testing.T, dir, id, fields string) {
	t.Helper()
	writeFile(t, filepath.Join(dir, id, manifest.Name), fmt.Sprintf(`{"id": %q, "version": "1", "protocol": 1, %s}`, id, fields))
	writeFile(t, filepath.Join(dir, id, "x"), "")
	if err := os.Chmod(filepath.Join(dir, id, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
}
