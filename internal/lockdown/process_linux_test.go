package lockdown

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestCapabilitiesThatAreLeftAreAnError: a kernel that says yes has to have done it.
func TestCapabilitiesThatAreLeftAreAnError(t *testing.T) {
	t.Parallel()
	var now [2]unix.CapUserData
	if err := unix.Capget(&capabilities.header, &now[0]); err != nil {
		t.Fatal(err)
	}
	saysYes := func(call, a, b, c uintptr) error { return nil }
	if err := DropCapabilities(saysYes); (err != nil) != (now != capabilities.none) {
		t.Errorf("the process has %x: %v", now, err)
	}
}

// TestALimitIsNotRaised above the hard one, by a process that could. Nothing here uses
// what the limit is about.
func TestALimitIsNotRaised(t *testing.T) {
	t.Parallel()
	const resource = unix.RLIMIT_MSGQUEUE
	for _, step := range []struct{ value, want uint64 }{{4096, 4096}, {8192, 4096}, {1024, 1024}, {4096, 1024}} {
		if err := LowerLimit(resource, step.value); err != nil {
			t.Fatalf("to %d: %v", step.value, err)
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			t.Fatal(err)
		}
		if want := (unix.Rlimit{Cur: step.want, Max: step.want}); now != want {
			t.Errorf("to %d: %+v, want %+v", step.value, now, want)
		}
	}
}
