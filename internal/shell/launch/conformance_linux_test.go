package launch

import (
	"testing"

	"github.com/quoinhq/quoin/internal/shell/launchtest"
)

func TestConformance(t *testing.T) {
	withAndWithoutCgroup(t, func(t *testing.T, l *launcher) {
		if l.withoutCgroup && testing.Short() {
			t.Skip("takes 30 s; where no group can be made, as for a user, the other run is this one")
		}
		launchtest.Run(t, launchtest.Host{Launcher: l, Dir: t.TempDir()})
	})
}
