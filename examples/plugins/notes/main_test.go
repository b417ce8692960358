package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/quoinhq/quoin/plugins/conformance"
	"github.com/quoinhq/quoin/plugins/pluginstest"
)

// needNode ends the test where there is no Node.js: it fails if CI is true, and is
// skipped otherwise.
func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		// The plugin is a program for Node.js, which this machine does not have.
		t.Skip(err)
	}
}

// installed builds the plugin into a folder of the test's.
func installed(t *testing.T) string {
	t.Helper()
	needNode(t)
	dir := filepath.Join(t.TempDir(), "notes")
	if err := install(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestConformance(t *testing.T) {
	declaration, err := conformance.ReadDeclaration(conformance.DeclarationName)
	if err != nil {
		t.Fatal(err)
	}
	pluginstest.Exercise(t, installed(t), &pluginstest.Options{Declaration: declaration})
}
