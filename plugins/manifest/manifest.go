package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// Name is the file that makes a folder a plugin.
const Name = "plugin.json"

// MaxBytes bounds the file plugin.json.
const MaxBytes = 1 << 20

// Manifest is what plugin.json says. The zero value is not valid.
type Manifest struct {
	// ID names the plugin and its folder: a lower-case letter, then up to 62
	// lower-case letters, digits and hyphens. See [IsID].
	ID string
	// Version is 1 to 64 letters, digits and the characters . + _ -, of any scheme.
	// The process must report the same version, or the plugin is refused.
	Version string
	// Protocol is the version of the plugin protocol in which the host speaks to the
	// plugin. The binary must answer in it. See package protocol.
	Protocol int
	// Description is one line for people. Optional; models do not see it.
	Description string
	// Command is the binary for this process's platform, relative to the
	// manifest's folder, with / between names. It is empty if Commands has no
	// binary for the platform: CheckPlatform reports that.
	Command string
	// Commands are the binaries by platform ("linux/amd64"), relative to the
	// manifest's folder; nil if one command serves them all.
	Commands map[string]string
	// Files are further files and folders that the plugin reads from its own
	// folder, relative to it. Optional. They are pinned, packed and installed with
	// the binary; what is not named is not.
	Files []string
	// SHA256 pins the binary per platform ("linux/amd64") in lower-case hex.
	// Optional; if present, the host's platform must be in it. It protects against
	// accidents: someone who can replace the binary can replace the manifest too.
	// Package trust has what vouches for a plugin.
	SHA256 map[string]string
	// ConfigSchema is a JSON Schema of type object for the plugin's configuration,
	// at most MaxSchemaBytes long and without references to other documents.
	// Optional; without it any configuration is passed on. See CheckConfig.
	ConfigSchema json.RawMessage
}

var (
	idPattern       = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	versionPattern  = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$`)
	platformPattern = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9]+$`)
	hexPattern      = regexp.MustCompile(`^[0-9a-f]{64}$`)
	// A path has no "..", and no "." but in front; backslashes and colons mean
	// something else on other systems.
	pathPattern = regexp.MustCompile(`^(\./)?` + pathSegment + `(/` + pathSegment + `)*$`)
)

// pathSegment is one name in a path: anything but "." and "..".
const pathSegment = `([^./\\:\x00-\x1f\x7f][^/\\:\x00-\x1f\x7f]*|\.[^./\\:\x00-\x1f\x7f][^/\\:\x00-\x1f\x7f]*|\.\.[^/\\:\x00-\x1f\x7f]+)`

// Limits of what a manifest may name.
const (
	maxPathLength = 255 // characters
	maxFiles      = 256
)

// spokenVersions are the protocol versions of plugins that this host runs.
var supportedVersions = versions(protocol.MinVersion, protocol.Version)

// IsID reports whether s can be the id of a plugin.
func IsID(s string) bool { return idPattern.MatchString(s) }

// IsVersion reports whether s can be the version of a plugin.
func IsVersion(s string) bool { return versionPattern.MatchString(s) }

// IsPlatform reports whether s has the form of a platform, such as linux/amd64.
func IsPlatform(s string) bool { return platformPattern.MatchString(s) }

// IsSHA256 reports whether s is a SHA-256 in lower-case hex.
func IsSHA256(s string) bool { return hexPattern.MatchString(s) }

// IsPath reports whether s is a path in a plugin's folder: names with / between them,
// without "..".
func IsPath(s string) bool { return pathPattern.MatchString(s) }

// Error says what is wrong with one field of a manifest. Its text is for the author of
// the plugin and names a way out.
type Error struct {
	// Field is the JSON name; empty if the file as a whole is meant.
	Field string
	// Problem is what was found and what was expected.
	Problem string
	// Fix says what to write instead.
	Fix string
}

// Error returns field, problem and fix in one line.
func (e *Error) Error() string {
	where := Name
	if e.Field != "" {
		where += ": field \"" + e.Field + "\""
	}
	if e.Fix == "" {
		return where + ": " + e.Problem
	}
	return where + ": " + e.Problem + "; " + e.Fix
}

// Read reads and checks the manifest in dir. Errors about the text are the
// errors of [Parse]; the error is fs.ErrNotExist if dir has no manifest.
func Read(dir string) (Manifest, error) {
	m, _, err := ReadWithSum(dir)
	return m, err
}

// ReadWithSum is Read, and returns the SHA-256 of the text too, in hex.
func ReadWithSum(dir string) (m Manifest, sum string, err error) {
	var text bytes.Buffer
	_, err = durable.Copy(&text, filepath.Join(dir, Name), MaxBytes)
	switch {
	case errors.Is(err, durable.ErrNotRegular):
		return m, "", &Error{Problem: "not a regular file", Fix: "put the manifest itself there"}
	case errors.Is(err, durable.ErrTooLarge):
		return m, "", &Error{Problem: fmt.Sprintf("larger than %d bytes", MaxBytes)}
	case err != nil:
		return m, "", err
	}
	hash := sha256.Sum256(text.Bytes())
	m, err = Parse(text.Bytes())
	return m, hex.EncodeToString(hash[:]), err
}

// field describes how one manifest field is read.
type field struct {
	name     string
	required bool
	read     func(m *Manifest, raw json.RawMessage) (problem, fix string)
}

// manifestFields are all fields, in the order they are checked.
var manifestFields = []field{
	{"$schema", false, func(_ *Manifest, raw json.RawMessage) (string, string) {
		return readText(raw, new(string), nil, "text", "write the address of the schema, or remove the field")
	}},
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
	{"files", false, readFiles},
	{"sha256", false, readChecksums},
	{"configSchema", false, func(m *Manifest, raw json.RawMessage) (string, string) {
		if err := CheckSchema(raw, true); err != nil {
			return err.Error(), `write a JSON Schema with "type": "object", or remove the field`
		}
		m.ConfigSchema = raw
		return "", ""
	}},
}

// Parse reads and checks the text of a manifest. It reports every problem in one joined
// error, each as an *[Error]. Fields that it does not know are problems too, so that a
// misspelt name does not go unnoticed.
func Parse(data []byte) (Manifest, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // of an editor of Windows
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return Manifest{}, notAnObject(data, err)
	}
	if raw == nil {
		return Manifest{}, &Error{Problem: "null instead of an object", Fix: `write {"id": …}`}
	}
	var m Manifest
	var errs []error
	known := make([]string, len(manifestFields))
	for i, f := range manifestFields {
		known[i] = f.name
		value, present := raw[f.name]
		if !present {
			if f.required {
				errs = append(errs, &Error{Field: f.name, Problem: "missing", Fix: "add it"})
			}
			continue
		}
		if problem, fix := f.read(&m, value); problem != "" {
			errs = append(errs, &Error{Field: f.name, Problem: problem, Fix: fix})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !slices.Contains(known, name) {
			errs = append(errs, &Error{Field: name, Problem: "unknown", Fix: "remove it; the fields are " + strings.Join(known, ", ")})
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
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) { // as PowerShell writes a file
		return &Error{Problem: "the file is UTF-16", Fix: "save it as UTF-8"}
	}
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		return &Error{Problem: fmt.Sprintf("line %d is not JSON: %v", line, err)}
	}
	return &Error{Problem: "not an object", Fix: `write {"id": …}`}
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

// versions are the numbers from oldest to newest.
func versions(oldest, newest int) (all []int) {
	for v := oldest; v <= newest; v++ {
		all = append(all, v)
	}
	return all
}

func readProtocol(m *Manifest, raw json.RawMessage) (string, string) {
	var text json.Number
	if json.Unmarshal(raw, &text) != nil || raw[0] == '"' || string(raw) == "null" {
		return fmt.Sprintf("expected a number, got %s", excerpt(raw)), fmt.Sprintf("write %d", protocol.Version)
	}
	// 1.0 is the same number as 1.
	number, _, err := big.ParseFloat(text.String(), 10, 512, big.ToZero)
	if err != nil || !number.IsInt() {
		return fmt.Sprintf("expected a whole number, got %s", excerpt(raw)), fmt.Sprintf("write %d", protocol.Version)
	}
	version, _ := number.Int64()
	m.Protocol = int(version)
	if err := protocol.CheckVersion(m.Protocol); err != nil {
		return err.Error(), ""
	}
	return "", ""
}

// readCommand reads one path for all platforms, or one for each.
func readCommand(m *Manifest, raw json.RawMessage) (string, string) {
	const fix = `write the path of the binary inside the plugin's folder, for example "./issues", or {"linux/amd64": "./bin/issues-linux-amd64"}`
	if len(raw) == 0 || raw[0] != '{' {
		return readPath(raw, &m.Command, fix), fix
	}
	paths, problem := readPlatforms(raw)
	if problem != "" {
		return problem, fix
	}
	m.Commands = map[string]string{}
	for _, platform := range slices.Sorted(maps.Keys(paths)) {
		var path string
		if problem := readPath(paths[platform], &path, fix); problem != "" {
			return platform + ": " + problem, fix
		}
		m.Commands[platform] = path
	}
	m.Command = m.Commands[HostPlatform()]
	return "", ""
}

// readPath reads a path inside the plugin's folder, and returns what is wrong with
// it.
func readPath(raw json.RawMessage, into *string, fix string) string {
	if problem, _ := readText(raw, into, pathPattern, "a path inside the plugin's folder, with / between names", fix); problem != "" {
		return problem
	}
	if n := utf8.RuneCountInString(*into); n > maxPathLength {
		return fmt.Sprintf("expected a path of at most %d characters, got one of %d", maxPathLength, n)
	}
	return ""
}

// readPlatforms reads an object with platforms as keys.
func readPlatforms(raw json.RawMessage) (values map[string]json.RawMessage, problem string) {
	if json.Unmarshal(raw, &values) != nil || len(values) == 0 {
		return nil, fmt.Sprintf("expected an object with an entry for each platform, got %s", excerpt(raw))
	}
	for _, platform := range slices.Sorted(maps.Keys(values)) {
		if !platformPattern.MatchString(platform) {
			return nil, fmt.Sprintf("expected a platform such as linux/amd64, got %q", platform)
		}
	}
	return values, ""
}

func readFiles(m *Manifest, raw json.RawMessage) (string, string) {
	const fix = `write the paths of files and folders inside the plugin's folder, for example ["templates"]`
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return fmt.Sprintf("expected a list of paths, got %s", excerpt(raw)), fix
	}
	if len(list) > maxFiles {
		return fmt.Sprintf("%d paths; the limit is %d", len(list), maxFiles), "name a folder that holds them"
	}
	for _, item := range list {
		var path string
		if problem := readPath(item, &path, fix); problem != "" {
			return problem, fix
		}
		if slices.Contains(m.Files, path) {
			return fmt.Sprintf("%s is listed twice", excerpt(item)), "list it once"
		}
		m.Files = append(m.Files, path)
	}
	return "", ""
}

func readChecksums(m *Manifest, raw json.RawMessage) (string, string) {
	const fix = `write {"linux/amd64": "64 lower-case hex digits"}`
	values, problem := readPlatforms(raw)
	if problem != "" {
		return problem, fix
	}
	m.SHA256 = map[string]string{}
	for _, platform := range slices.Sorted(maps.Keys(values)) {
		var sum string
		if problem, _ := readText(values[platform], &sum, hexPattern, "64 lower-case hex digits", fix); problem != "" {
			return platform + ": " + problem, fix
		}
		m.SHA256[platform] = sum
	}
	return "", ""
}

// HostPlatform is how manifests name the platform of this process: the operating system
// and the processor of the Go toolchain, such as linux/amd64.
func HostPlatform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// excerpt is the start of some JSON, for messages.
func excerpt(raw []byte) string {
	const longest = 63
	return text.Shorten(strings.ToValidUTF8(string(raw), "\uFFFD"), longest)
}

// CommandPaths are the binaries of every platform, as clean paths, sorted.
func (m Manifest) CommandPaths() []string {
	if m.Commands == nil {
		return []string{path.Clean(m.Command)}
	}
	var out []string
	for _, c := range m.Commands {
		out = append(out, path.Clean(c))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Binaries returns the paths of the binaries, clean, by platform. A command that serves
// every platform is returned for the platform of this process alone, because only there
// its checksum can be compared with what runs.
func (m Manifest) Binaries() map[string]string {
	if m.Commands == nil {
		return map[string]string{HostPlatform(): path.Clean(m.Command)}
	}
	out := map[string]string{}
	for platform, c := range m.Commands {
		out[platform] = path.Clean(c)
	}
	return out
}

// CheckPlatform returns an *[Error] if the manifest lacks a binary or a checksum for the
// platform of this process. Packing and linting a plugin for other platforms do not need
// it; starting it does.
func (m Manifest) CheckPlatform() error {
	host := HostPlatform()
	switch {
	case m.Command == "":
		return &Error{Field: "command", Problem: "no entry for this host's platform " + host,
			Fix: "add the binary for " + host + ", or install the plugin on one of " + strings.Join(slices.Sorted(maps.Keys(m.Commands)), ", ")}
	case !filepath.IsLocal(filepath.FromSlash(m.Command)):
		return &Error{Field: "command", Problem: fmt.Sprintf("%q leads out of the plugin's folder on %s", m.Command, host), Fix: "choose another name"}
	case m.SHA256 != nil && m.SHA256[host] == "":
		return &Error{Field: "sha256", Problem: "no entry for this host's platform " + host,
			Fix: "add the checksum of the binary for " + host + ", or remove the field"}
	}
	return nil
}
