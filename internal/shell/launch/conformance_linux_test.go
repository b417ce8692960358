package launch

import (
	"testing"

	"github.com/quoinhq/quoin/internal/shell/launchtest"
)

func TestConformance(t *testing.T) {
	withAndWithoutCgroup(t, func(t *testing.T, l *launcher) {
		launchtest.Run(t, launchtest.Host{Launcher: l, Dir: t.TempDir()})
	})
}
