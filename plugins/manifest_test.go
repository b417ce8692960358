//go:build linux

package plugins

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestManifest(t *testing.T) {
	m, err := ParseManifest([]byte(`{"id": "issues", "version": "1.2.3-rc.1", "protocol": 2, "description": "Issues.",
		"command": "bin/issues", "sha256": {"` + hostPlatform() + `": "` + strings.Repeat("a", 64) + `"}, "configSchema": {"type": "object"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if m.ID != "issues" || m.Version != "1.2.3-rc.1" || m.Protocol != 2 || m.Command != "bin/issues" || m.SHA256[hostPlatform()] == "" || m.ConfigSchema == nil {
		t.Errorf("%+v", m)
	}
}

func TestManifestMistakes(t *testing.T) {
	tests := []struct {
		name, text string
		parts      []string
	}{
		{"empty", ``, []string{"line 1", "not JSON"}},
		{"broken", "{\n\"id\": \"a\",\n}", []string{"line 3", "not JSON"}},
		{"array", `[]`, []string{"not an object"}},
		{"null", `null`, []string{"null"}},
		{"nothing", `{}`, []string{`"id": missing`, `"version": missing`, `"protocol": missing`, `"command": missing`}},
		{"id type", manifestOf(`"id": 5`), []string{`"id"`, "string", "5"}},
		{"id null", manifestOf(`"id": null`), []string{`"id"`, "string", "null"}},
		{"id case", manifestOf(`"id": "Issues"`), []string{`"id"`, "lower-case", `"Issues"`}},
		{"id length", manifestOf(`"id": "` + strings.Repeat("a", 64) + `"`), []string{`"id"`, "62"}},
		{"id path", manifestOf(`"id": "../x"`), []string{`"id"`, `"../x"`}},
		{"version", manifestOf(`"version": "one two"`), []string{`"version"`, `"one two"`}},
		{"protocol type", manifestOf(`"protocol": "1"`), []string{`"protocol"`, "number", `"1"`, "write 2"}},
		{"protocol too new", manifestOf(`"protocol": 3`), []string{`"protocol"`, "version 3", "versions 1 to 2", "update the host", "for version 2"}},
		{"protocol too old", manifestOf(`"protocol": 0`), []string{`"protocol"`, "version 0", "versions 1 to 2", "rebuild the plugin"}},
		{"command absolute", manifestOf(`"command": "/bin/sh"`), []string{`"command"`, "inside the plugin's folder", "/bin/sh"}},
		{"command outside", manifestOf(`"command": "../sh"`), []string{`"command"`, "../sh"}},
		{"command empty", manifestOf(`"command": ""`), []string{`"command"`}},
		{"command folder", manifestOf(`"command": "."`), []string{`"command"`}},
		{"command list", manifestOf(`"command": ["a"]`), []string{`"command"`, "string", `["a"]`}},
		{"checksum type", manifestOf(`"sha256": "abc"`), []string{`"sha256"`, "object"}},
		{"checksum platform", manifestOf(`"sha256": {"linux": "abc"}`), []string{`"sha256"`, "linux/amd64", `"linux"`}},
		{"checksum text", manifestOf(`"sha256": {"` + hostPlatform() + `": "ABC"}`), []string{`"sha256"`, "64 lower-case hex digits", `"ABC"`}},
		{"config schema", manifestOf(`"configSchema": {"type": "array"}`), []string{`"configSchema"`, `"type": "object"`}},
		{"unknown field", manifestOf(`"commands": "x"`), []string{`"commands"`, "unknown", "command, files, sha256"}},
		{"field case", manifestOf(`"ID": "x"`), []string{`"ID"`, "unknown"}},
		{"description", manifestOf(`"description": 5`), []string{`"description"`, "string"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseManifest([]byte(tt.text))
			if err == nil {
				t.Fatalf("accepted %s", tt.text)
			}
			var m *ManifestError
			if !errors.As(err, &m) {
				t.Errorf("not a *ManifestError: %v", err)
			}
			wantParts(t, err.Error(), tt.parts...)
		})
	}
}

func TestPassedOver(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"plugin", "leftover", ".hidden"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", filepath.Join("plugin", ManifestName)} {
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
	dir := shortDir(t)
	install(t, dir, "good", "good")
	writeFile(t, filepath.Join(dir, "broken", ManifestName), `{`)
	writeFile(t, filepath.Join(dir, "renamed", ManifestName), `{"id": "original", "version": "1", "protocol": 2, "command": "x"}`)
	writeFile(t, filepath.Join(dir, "unbuilt", ManifestName), `{"id": "unbuilt", "version": "1", "protocol": 2, "command": "./unbuilt"}`)
	writeFile(t, filepath.Join(dir, "text", ManifestName), `{"id": "text", "version": "1", "protocol": 2, "command": "./text"}`)
	writeFile(t, filepath.Join(dir, "text", "text"), "not executable")
	writeFile(t, filepath.Join(dir, "folder", ManifestName), `{"id": "folder", "version": "1", "protocol": 2, "command": "./folder"}`)
	if err := os.Mkdir(filepath.Join(dir, "folder", "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere(t, dir, "other-sum", `"command": "./x", "sha256": {"plan9/mips": "`+strings.Repeat("a", 64)+`"}`)
	elsewhere(t, dir, "other-command", `"command": {"plan9/mips": "./x"}`)
	elsewhere(t, dir, "no-files", `"command": "./x", "files": ["templates"]`)
	writeFile(t, filepath.Join(dir, "notes", "README"), "no plugin")
	writeFile(t, filepath.Join(dir, ".hidden", ManifestName), `{`)
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
		{"other-command", hostPlatform()},
		{"other-sum", hostPlatform()},
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
	writeFile(t, filepath.Join(dir, id, ManifestName), fmt.Sprintf(`{"id": %q, "version": "1", "protocol": 1, %s}`, id, fields))
	writeFile(t, filepath.Join(dir, id, "x"), "")
	if err := os.Chmod(filepath.Join(dir, id, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// A manifest that is no regular file is refused without being opened.
func TestManifestMustBeAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ManifestName), 0o700); err != nil {
		t.Fatal(err)
	}
	var refused *ManifestError
	if _, err := ReadManifest(dir); !errors.As(err, &refused) || refused.Problem != "not a regular file" {
		t.Errorf("ReadManifest: %v, want a refusal", err)
	}
}
