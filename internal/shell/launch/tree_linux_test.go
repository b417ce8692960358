package launch

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNamesOfProgramsDoNotMislead: a process that is named like another's line is still
// found below its parent.
func TestNamesOfProgramsDoNotMislead(t *testing.T) {
	const rest = " S 41 42 43 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 98"
	want := member{pid: 7, parent: 41, session: 43, started: "12345"}
	for _, name := range []string{"sh", "", ")", "a) Z 1 1 1 0", ") (", "a b\n7 (x) Z 1 1", "\xff\x00"} {
		if got, ok := parseMember(7, "7 ("+name+")"+rest); !ok || got != want {
			t.Errorf("%q: got %+v, %v", name, got, ok)
		}
	}
	for _, stat := range []string{"", "7", "7 (sh", "7 (sh)", "7 (sh) S", "7 (sh) S x y z" + strings.Repeat(" 1", 20)} {
		if got, ok := parseMember(7, stat); ok {
			t.Errorf("%q: got %+v", stat, got)
		}
	}
	if got, ok := parseMember(7, "7 (sh)"+strings.Replace(rest, "S", "Z", 1)); !ok || !got.zombie {
		t.Errorf("one that has ended: %+v, %v", got, ok)
	}
}

// TestANumberThatIsAnothersByNow gets no signal.
func TestANumberThatIsAnothersByNow(t *testing.T) {
	const look = unix.Signal(0) // which does nothing
	m, ok := readMember(os.Getpid())
	if !ok {
		t.Fatal("this process is not there")
	}
	if err := m.signal(look); err != nil {
		t.Errorf("the process itself: %v", err)
	}
	m.started += "1"
	if err := m.signal(look); !errors.Is(err, unix.ESRCH) {
		t.Errorf("a process of that number that was started at another time: %v, want ESRCH", err)
	}
}
