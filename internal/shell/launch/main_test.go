package launch

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// helperVariable names what the test binary does instead of the tests.
const helperVariable = "QUOIN_LAUNCH_HELPER"

func TestMain(m *testing.M) {
	Main()
	if help := helpers[os.Getenv(helperVariable)]; help != nil {
		os.Exit(help())
	}
	goleak.VerifyTestMain(m)
}
