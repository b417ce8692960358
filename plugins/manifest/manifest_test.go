//go:build linux

package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/plugins/protocol"
)

func TestManifest(t *testing.T) {
	m, err := Parse([]byte("\ufeff" + `{"id": "issues", "version": "1.2.3-rc.1", "protocol": 2, "description": "Issues.",
		"command": "bin/issues", "sha256": {"` + HostPlatform() + `": "` + strings.Repeat("a", 64) + `"}, "configSchema": {"type": "object"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if m.ID != "issues" || m.Version != "1.2.3-rc.1" || m.Protocol != 2 || m.Command != "bin/issues" || m.SHA256[HostPlatform()] == "" || m.ConfigSchema == nil {
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
		{"UTF-16", "\xff\xfe{\x00}\x00", []string{"UTF-16", "save it as UTF-8"}},
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
		{"checksum text", manifestOf(`"sha256": {"` + HostPlatform() + `": "ABC"}`), []string{`"sha256"`, "64 lower-case hex digits", `"ABC"`}},
		{"config schema", manifestOf(`"configSchema": {"type": "array"}`), []string{`"configSchema"`, `"type": "object"`}},
		{"unknown field", manifestOf(`"commands": "x"`), []string{`"commands"`, "unknown", "command, files, sha256"}},
		{"field case", manifestOf(`"ID": "x"`), []string{`"ID"`, "unknown"}},
		{"description", manifestOf(`"description": 5`), []string{`"description"`, "string"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			if err == nil {
				t.Fatalf("accepted %s", tt.text)
			}
			var m *Error
			if !errors.As(err, &m) {
				t.Errorf("not a *ManifestError: %v", err)
			}
			wantParts(t, err.Error(), tt.parts...)
		})
	}
}

// A manifest that is no regular file is refused without being opened.
func TestManifestMustBeAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, Name), 0o700); err != nil {
		t.Fatal(err)
	}
	var refused *Error
	if _, err := Read(dir); !errors.As(err, &refused) || refused.Problem != "not a regular file" {
		t.Errorf("ReadManifest: %v, want a refusal", err)
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(`{"id": "issues", "version": "1.0.0", "protocol": 1, "command": "./issues"}`))
	f.Add([]byte(`{"sha256": {"linux/amd64": "00"}, "configSchema": {"$ref": "#"}}`))
	for field, values := range manifestFieldValues {
		for _, v := range values {
			f.Add([]byte(manifestOf(fmt.Sprintf("%q: %s", field, v))))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err == nil && (!IsID(m.ID) || m.Command == "" && m.Commands == nil || protocol.CheckVersion(m.Protocol) != nil) {
			t.Errorf("accepted %+v", m)
		}
		sameVerdict(t, data)
	})
}

// wantParts checks that a text has every part.
func wantParts(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nlacks %q", text, part)
		}
	}
}
