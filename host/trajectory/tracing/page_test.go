package tracing

import (
	"os"
	"strings"
	"testing"
)

// TestEveryVariableIsDocumented: docs/guide/observability.md names what the environment may
// say.
func TestEveryVariableIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/guide/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{envDisabled, envExporter, envEndpoint, envTracesEndpoint, envProtocol, envTracesProtocol} {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
}
