package plugintest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/quoinhq/quoin/plugins/conformance"
)

// Main runs the tests, or the plugin's main function where a host, such as
// [Conformance], has started the test binary as the plugin.
func Main(m *testing.M, plugin func()) {
	if os.Getenv("QUOIN_PLUGIN_DIR") != "" {
		plugin()
		return
	}
	os.Exit(m.Run())
}

// Conformance runs the conformance suite against the plugin of this package, by
// the manifest and the declaration in its folder. Its tests must start in [Main].
func Conformance(t *testing.T) {
	manifest, err := os.ReadFile("plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ ID, Command string }
	if err := json.Unmarshal(manifest, &m); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), m.ID)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin.json"), manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, m.Command)); err != nil {
		t.Fatal(err)
	}
	declaration, err := conformance.ReadDeclaration(conformance.DeclarationName)
	if err != nil {
		t.Fatal(err)
	}
	conformance.Exercise(t, dir, &conformance.Options{Declaration: declaration})
}
