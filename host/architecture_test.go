package host_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	osexec "os/exec"
	"strings"
	"testing"
)

const module = "github.com/quoinhq/quoin/"

// listed is what the test needs of go list.
type listed struct {
	ImportPath string
	Doc        string
	Imports    []string
	Deps       []string
	GoFiles    []string
	CgoFiles   []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := osexec.Command("go", "list", "-json=ImportPath,Doc,Imports,Deps,GoFiles,CgoFiles", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var pkgs []listed
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// within reports whether path is dir or below it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// mayImport says which of our packages each part may import directly, itself
// aside. The longest matching part decides.
var mayImport = map[string][]string{
	"namespaces":                           nil,
	"plugins/protocol":                     nil,
	"guestrt":                              nil,
	"sdk":                                  {"plugins/protocol", "namespaces"},
	"sdk/sdktest":                          {"sdk", "plugins", "namespaces", "host", "guestrt"},
	"plugins":                              {"namespaces"},
	"plugins/pluginstest":                  {"plugins", "namespaces"},
	"plugins/conformance":                  {"plugins", "namespaces"},
	"internal":                             nil,
	"internal/pluginstorage":               {"plugins/protocol"},
	"internal/hostile":                     {"guestrt", "host"},
	"host":                                 {"guestrt", "plugins", "namespaces"},
	"host/catalog":                         {"!", "internal/schemalimit"},
	"host/internal/config":                 {"host/internal/json5"},
	"host/internal/json5":                  {"!"},
	"host/mcp":                             {"internal/childprocess"},
	"host/runstore":                        {"!"},
	"host/internal/declare":                {"host/catalog", "namespaces"},
	"host/policy":                          {"host/runstore", "plugins/protocol"},
	"host/cmd/quoin/internal/pluginlint":   {"host/catalog", "plugins", "namespaces"},
	"host/cmd/quoin/internal/scaffold":     {"host/catalog", "plugins/protocol", "namespaces"},
	"host/cmd/quoin/internal/celltest":     {"host", "plugins", "namespaces"},
	"host/cmd/quoin/internal/debugrelay":   {"plugins"},
	"host/cmd/quoin/internal/pluginbuild":  {"host/internal/config", "plugins"},
	"host/trajectory":                      {"!"},
	"host/trajectory/tracing":              {"!"},
	"host/redact":                          {"!"},
	"host/internal/debuglog":               {"host/redact"},
	"host/internal/metrics":                {"!"},
	"examples/plugins":                     {"sdk"},
	"examples/plugins/rude":                {"sdk", "plugins/protocol"},
	"examples/plugins/notes":               nil,
	"examples/plugins/internal/plugintest": {"sdk", "plugins/pluginstest", "plugins/conformance"},
	"examples/demo":                        {"host"},
	"host/cmd/quoin/internal/devloop":      {"host", "plugins"},
}

// TestImportRules pins who may import whom: see docs/architecture.md.
func TestImportRules(t *testing.T) {
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		part, allowed := ruleFor(path)
		if part == "" {
			t.Errorf("%s belongs to no part of the architecture: add it to mayImport and to docs/architecture.md", path)
			continue
		}
		for _, imp := range p.Imports {
			imp, ours := strings.CutPrefix(imp, module)
			if !ours || within(imp, "internal") || within(imp, part) && !contains(allowed, "!") || permitted(imp, allowed) {
				continue
			}
			t.Errorf("%s imports %s: %s may import only %v of ours", path, imp, part, allowed)
		}
	}
}

func ruleFor(path string) (part string, allowed []string) {
	for dir, a := range mayImport {
		if within(path, dir) && len(dir) > len(part) {
			part, allowed = dir, a
		}
	}
	return part, allowed
}

func permitted(imp string, allowed []string) bool {
	for _, a := range allowed {
		if within(imp, a) {
			return true
		}
	}
	return false
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// TestEngineStaysInTheWorker proves that nothing a gateway or a plugin links
// reaches the JavaScript engine or the TypeScript compiler. Test kits may: the
// tests that use them are workers of their own. So may the command that bundles a
// plugin written in JavaScript, which is not part of it.
func TestEngineStaysInTheWorker(t *testing.T) {
	worker := []string{"examples/plugins/notes", "guestrt/internal/engine/quickjs", "guestrt/guestserver", "guestrt/cmd", "guestrt/internal/prelude"}
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if permitted(path, worker) || strings.HasSuffix(path, "test") {
			continue
		}
		for _, d := range p.Deps {
			if within(d, "modernc.org/libquickjs") || within(d, "modernc.org/quickjs") || within(d, "github.com/evanw/esbuild") && !within(path, "guestrt/internal/prelude") {
				t.Errorf("%s links %s, which belongs to the worker alone", path, d)
			}
		}
	}
}

// TestPackagesAreDocumented requires a package comment everywhere, and Go alone.
func TestPackagesAreDocumented(t *testing.T) {
	for _, p := range listPackages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
		if len(p.CgoFiles) > 0 {
			t.Errorf("%s uses cgo", p.ImportPath)
		}
	}
}
