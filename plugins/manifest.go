package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// ManifestName is the file that makes a folder a plugin.
const ManifestName = "plugin.json"

// maxManifestBytes bounds a manifest file.
const maxManifestBytes = 1 << 20

// Manifest is what plugin.json says. The zero value is not valid.
type Manifest struct {
	// ID names the plugin and its folder.
	ID string
	// Version must equal what the process says.
	Version string
	// Protocol is the protocol version the binary was built for.
	Protocol int
	// Description is one line for people. Optional.
	Description string
	// Command is the binary, relative to the manifest's folder.
	Command string
	// SHA256 pins the binary per platform ("linux/amd64") in lower-case hex.
	// Optional; if present, the host's platform must be in it.
	SHA256 map[string]string
	// ConfigSchema is a JSON Schema for the plugin's configuration. Optional.
	ConfigSchema json.RawMessage
}

var (
	idPattern       = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	versionPattern  = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$`)
	platformPattern = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9]+$`)
	hexPattern      = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// ManifestError says what is wrong with one field of a manifest.
type ManifestError struct {
	// Field is the JSON name; empty if the file as a whole is meant.
	Field string
	// Problem is what was found and what was expected.
	Problem string
	// Fix says what to write instead.
	Fix string
}

// Error returns field, problem and fix in one line.
func (e *ManifestError) Error() string {
	where := ManifestName
	if e.Field != "" {
		where += ": field \"" + e.Field + "\""
	}
	if e.Fix == "" {
		return where + ": " + e.Problem
	}
	return where + ": " + e.Problem + "; " + e.Fix
}

// ReadManifest reads and checks the manifest in dir.
func ReadManifest(dir string) (Manifest, error) {
	name := filepath.Join(dir, ManifestName)
	// Opening a pipe in the manifest's place would wait for a writer.
	if st, err := os.Stat(name); err != nil {
		return Manifest{}, err
	} else if !st.Mode().IsRegular() {
		return Manifest{}, &ManifestError{Problem: "not a regular file", Fix: "put the manifest itself there"}
	}
	f, err := os.Open(name)
	if err != nil {
		return Manifest{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxManifestBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return Manifest{}, err
	}
	if len(data) > maxManifestBytes {
		return Manifest{}, &ManifestError{Problem: fmt.Sprintf("larger than %d bytes", maxManifestBytes)}
	}
	return ParseManifest(data)
}

// field describes how one manifest field is read.
type field struct {
	name     string
	required bool
	read     func(m *Manifest, raw json.RawMessage) (problem, fix string)
}

// manifestFields are all fields, in the order they are checked.
var manifestFields = []field{
	{"id", true, func(m *Manifest, raw json.RawMessage) (string, string) {
		return readText(raw, &m.ID, idPattern, "a lower-case letter, then up to 62 lower-case letters, digits and hyphens", `for example "issues"`)
	}},
	{"version", true, func(m *Manifest, raw json.RawMessage) (string, string) {
		return readText(raw, &m.Version, versionPattern, "1 to 64 letters, digits and . + _ -", `for example "1.0.0"`)
	}},
	{"protocol", true, readProtocol},
	{"description", false, func(m *Manifest, raw json.RawMessage) (string, string) {
		return readText(raw, &m.Description, nil, "text", "write one line about the plugin")
	}},
	{"command", true, readCommand},
	{"sha256", false, readChecksums},
	{"configSchema", false, func(m *Manifest, raw json.RawMessage) (string, string) {
		if err := checkSchema(raw, true); err != nil {
			return err.Error(), `write a JSON Schema with "type": "object", or remove the field`
		}
		m.ConfigSchema = raw
		return "", ""
	}},
}

// ParseManifest reads and checks the text of a manifest. Every problem is
// reported, each as a *[ManifestError].
func ParseManifest(data []byte) (Manifest, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return Manifest{}, notAnObject(data, err)
	}
	if raw == nil {
		return Manifest{}, &ManifestError{Problem: "null instead of an object", Fix: `write {"id": …}`}
	}
	var m Manifest
	var errs []error
	known := make([]string, len(manifestFields))
	for i, f := range manifestFields {
		known[i] = f.name
		value, present := raw[f.name]
		if !present {
			if f.required {
				errs = append(errs, &ManifestError{Field: f.name, Problem: "missing", Fix: "add it"})
			}
			continue
		}
		if problem, fix := f.read(&m, value); problem != "" {
			errs = append(errs, &ManifestError{Field: f.name, Problem: problem, Fix: fix})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !slices.Contains(known, name) {
			errs = append(errs, &ManifestError{Field: name, Problem: "unknown", Fix: "remove it; the fields are " + strings.Join(known, ", ")})
		}
	}
	if len(errs) > 0 {
		return Manifest{}, errors.Join(errs...)
	}
	return m, nil
}

// notAnObject explains why data is no manifest, with the line of a syntax
// error.
func notAnObject(data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		return &ManifestError{Problem: fmt.Sprintf("line %d is not JSON: %v", line, err)}
	}
	return &ManifestError{Problem: "not an object", Fix: `write {"id": …}`}
}

// readText reads a string that matches pattern, which may be nil.
func readText(raw json.RawMessage, into *string, pattern *regexp.Regexp, expected, fix string) (string, string) {
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, into) != nil {
		return fmt.Sprintf("expected a string, got %s", excerpt(raw)), fix
	}
	if pattern != nil && !pattern.MatchString(*into) {
		return fmt.Sprintf("expected %s, got %s", expected, excerpt(raw)), fix
	}
	return "", ""
}

func readProtocol(m *Manifest, raw json.RawMessage) (string, string) {
	if json.Unmarshal(raw, &m.Protocol) != nil || string(raw) == "null" {
		return fmt.Sprintf("expected a number, got %s", excerpt(raw)), fmt.Sprintf("write %d", protocol.Version)
	}
	if m.Protocol != protocol.Version {
		return fmt.Sprintf("this host speaks version %d, the plugin version %d", protocol.Version, m.Protocol),
			"install a build of the plugin for this host's version, or the other way round"
	}
	return "", ""
}

func readCommand(m *Manifest, raw json.RawMessage) (string, string) {
	const fix = `write the path of the binary inside the plugin's folder, for example "./issues"`
	if problem, fix := readText(raw, &m.Command, nil, "", fix); problem != "" {
		return problem, fix
	}
	clean := filepath.FromSlash(m.Command)
	if m.Command == "" || !filepath.IsLocal(clean) || filepath.Clean(clean) == "." {
		return fmt.Sprintf("expected a path inside the plugin's folder, got %s", excerpt(raw)), fix
	}
	return "", ""
}

func readChecksums(m *Manifest, raw json.RawMessage) (string, string) {
	const fix = `write {"linux/amd64": "64 lower-case hex digits"}`
	if json.Unmarshal(raw, &m.SHA256) != nil || m.SHA256 == nil {
		return fmt.Sprintf("expected an object of strings, got %s", excerpt(raw)), fix
	}
	for _, platform := range slices.Sorted(maps.Keys(m.SHA256)) {
		if !platformPattern.MatchString(platform) {
			return fmt.Sprintf("expected a platform such as linux/amd64, got %q", platform), fix
		}
		if !hexPattern.MatchString(m.SHA256[platform]) {
			return fmt.Sprintf("expected 64 lower-case hex digits for %s, got %q", platform, m.SHA256[platform]), fix
		}
	}
	if host := hostPlatform(); m.SHA256[host] == "" {
		return "no entry for this host's platform " + host, "add the checksum of the binary for " + host + ", or remove the field"
	}
	return "", ""
}

// hostPlatform is how manifests name the platform of this process.
func hostPlatform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// excerpt is the beginning of some JSON, for messages.
func excerpt(raw []byte) string {
	const longest = 60
	text := strings.ToValidUTF8(string(raw[:min(len(raw), longest)]), "\uFFFD")
	if len(raw) > longest {
		text += "…"
	}
	return text
}
