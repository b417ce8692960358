package sandbox

import "testing"

// TestAKilledProcessHidesNothing: while the kernel ends the threads of a process that was
// killed, the process looks like one with a first thread that has ended by itself.
func TestAKilledProcessHidesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		state, threads, pending string
		want                    bool
	}{
		"it runs":                          {"S (sleeping)", "7", "0000000000000000", false},
		"it ended":                         {"Z (zombie)", "1", "0000000000000000", false},
		"its first thread ended":           {"Z (zombie)", "7", "0000000000000000", true},
		"and a signal that it ignores":     {"Z (zombie)", "7", "0000000000001000", true},
		"it was killed":                    {"Z (zombie)", "7", "0000000000000100", false},
		"it was killed after other things": {"Z (zombie)", "2", "0000000000015100", false},
	} {
		u, err := usageIn(map[string]string{"State": tc.state, "Threads": tc.threads, "ShdPnd": tc.pending})
		if err != nil || u.Hidden != tc.want {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
}
