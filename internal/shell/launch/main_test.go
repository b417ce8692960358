package launch

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Main()
	if script := os.Getenv(callerScript); script != "" {
		os.Exit(callAndWait(script))
	}
	goleak.VerifyTestMain(m)
}
