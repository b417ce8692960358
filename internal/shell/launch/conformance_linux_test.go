package launch

import (
	"testing"

	"github.com/quoinhq/quoin/internal/shell/launchtest"
)

func TestConformance(t *testing.T) {
	t.Run("WithoutCgroup", func(t *testing.T) {
		launchtest.Run(t, launchtest.Host{Launcher: &launcher{withoutCgroup: true}, Dir: t.TempDir()})
	})
}
