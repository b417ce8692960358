//go:build linux

package plugins

import (
	"os"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// TestMain lets the test binary stand in for plugin processes, their children
// and whole hosts: real processes, and nothing to build.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(protocol.CookieKey) != "":
		servePlugin()
	case os.Getenv("QUOIN_TEST_GRANDCHILD") != "":
		blockForever()
	case os.Getenv("QUOIN_TEST_HOST") != "":
		runHost(os.Getenv("QUOIN_TEST_HOST"))
	case os.Getenv(pausedHostVariable) != "":
		runPausedHost(os.Getenv(pausedHostVariable))
	default:
		hosttest.Main(m)
	}
}
