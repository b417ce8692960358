package runstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrorsDoNotTellThePath: what is wrong with a file reaches the model, and where the
// files of the host are does not.
func TestErrorsDoNotTellThePath(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, 11), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, large} {
		_, err := readRegular(path, 10)
		if !errors.Is(err, ErrCorrupt) || strings.Contains(err.Error(), filepath.Dir(path)) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
