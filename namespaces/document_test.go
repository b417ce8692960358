package namespaces

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestTheLimitsInTheDocument compares them with the limits of this package.
func TestTheLimitsInTheDocument(t *testing.T) {
	rows, err := hosttest.Table("../docs/reference/plugin-protocol.md", "what")
	if err != nil {
		t.Fatal(err)
	}
	said := make(map[string]string)
	for _, r := range rows {
		said[r[0]] = r[1]
	}
	for what, limit := range map[string]string{
		"fields of a mapping": strconv.Itoa(maxFields),
		"a scope: nodes":      strconv.Itoa(defaultNodes),
		"a scope: levels":     strconv.Itoa(defaultDepth),
		"a scope: bytes":      fmt.Sprintf("%d MiB", defaultBytes>>20),
	} {
		if said[what] != limit {
			t.Errorf("%s: the document says %q, the code %q", what, said[what], limit)
		}
	}
}
