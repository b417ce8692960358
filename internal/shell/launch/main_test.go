package launch

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Main()
	goleak.VerifyTestMain(m)
}
