package sdk_test

import (
	"os"
	"strings"
	"testing"
)

// TestTheFirstScreenCompiles holds the plugin in the package comment to the
// compiled Example.
func TestTheFirstScreenCompiles(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(string(example), "func Example() {\n")
	if !ok {
		t.Fatal("no Example")
	}
	var commented strings.Builder
	for line := range strings.Lines(body) {
		commented.WriteString(strings.TrimRight("//\t"+strings.TrimSuffix(line, "\n"), "\t") + "\n")
	}
	if !strings.Contains(string(doc), commented.String()) {
		t.Errorf("doc.go does not hold the body of Example:\n%s", commented.String())
	}
}
