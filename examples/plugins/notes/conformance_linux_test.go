package main

import (
	"path/filepath"
	"testing"

	"github.com/quoinhq/quoin/plugins/conformance"
	"github.com/quoinhq/quoin/plugins/pluginstest"
)

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
