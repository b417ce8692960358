package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/plugins/conformance"
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
	conformance.Exercise(t, installed(t), &conformance.Options{Declaration: declaration})
}

// TestALargeMessage: nearly the largest result that there may be.
func TestALargeMessage(t *testing.T) {
	d := &conformance.Declaration{Large: &conformance.Large{Call: conformance.Call{Tool: "notes_export", Input: []byte(`{}`)}, Bytes: 16_000_000}}
	text := strings.Repeat("x", 1_000_000)
	for i := range 16 {
		input := fmt.Appendf(nil, `{"title": "%d", "text": %q}`, i, text)
		d.Setup = append(d.Setup, conformance.Call{Tool: "notes_put", Input: input})
	}
	parts := conformance.Parts()
	i := slices.IndexFunc(parts, func(p conformance.Part) bool { return p.Name == "declared calls do as declared" })
	r, err := parts[i].Run(t.Context(), installed(t), &conformance.Options{Declaration: d})
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("%v, %v", r.Problems, err)
	}
}
