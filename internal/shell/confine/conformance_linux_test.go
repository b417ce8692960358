package confine_test

import (
	"testing"

	"github.com/quoinhq/quoin/internal/shell/confine"
	"github.com/quoinhq/quoin/internal/shell/launchtest"
)

func TestConformance(t *testing.T) {
	l, work := launcher(t, func(o *confine.Options) { o.Processes, o.FileBytes = 256, 2<<30 })
	launchtest.Run(t, launchtest.Host{Launcher: l, Dir: work})
}
