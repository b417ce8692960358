package machine

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// TestADirectoryThatDoesNotExistIsNamed with its field, so that an operator finds it.
func TestADirectoryThatDoesNotExistIsNamed(t *testing.T) {
	there, missing := t.TempDir(), filepath.Join(t.TempDir(), "project")
	for want, box := range map[string]settings.SandboxSettings{
		"read: " + missing + " does not exist":  {Read: []string{there, missing}},
		"write: " + missing + " does not exist": {Write: []string{there, missing}},
	} {
		if _, err := Sandbox(&settings.Settings{Sandbox: box}, there, nil, slog.Default()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
