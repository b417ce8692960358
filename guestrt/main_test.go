package guestrt

import (
	"os"
	"testing"

	"github.com/quoinhq/quoin/guestrt/guestserver"
)

func TestMain(m *testing.M) {
	guestserver.ServeIfWorker()
	os.Exit(m.Run())
}
