package guestrt

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// earlyHostVariable has a process start a worker first of all, of the guest that it names.
const earlyHostVariable = "QUOIN_TEST_EARLY_HOST"

func beEarlyHost() {
	p, err := NewPool(context.Background(), Config{GuestPath: os.Getenv(earlyHostVariable), Prepared: 1})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	p.Close()
	os.Exit(0)
}

// TestAWorkerStartsWhateverDescriptorsAreTaken: the host opens the guest, pipes and files at
// the descriptors that are free, and some of them are those that the worker gets. The
// runtime of Go takes one or two before main, as the control groups of the machine are.
func TestAWorkerStartsWhateverDescriptorsAreTaken(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for taken := range 8 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), earlyHostVariable+"="+guestPath, "GODEBUG=containermaxprocs=0")
		for range taken {
			cmd.ExtraFiles = append(cmd.ExtraFiles, os.Stdin)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%d descriptors are taken: %v: %s", taken, err, strings.TrimSpace(string(out)))
		}
	}
}
