package launchtest

import (
	"maps"
	"slices"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// Host is what the suite tests.
type Host struct {
	Launcher execution.Launcher
	// Dir is a directory that commands may write to. It has the same path for them and
	// for the test.
	Dir string
}

// Run runs the suite. Each case is a subtest.
func Run(t *testing.T, h Host) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Host)
	}{
		{"Streams", h.with(streams)},
		{"Start", h.with(starts)},
		{"End", h.with(ends)},
		{"Kill", h.with(kills)},
		{"Interrupt", h.with(interrupts)},
		{"Terminal", h.with(terminals)},
		{"Fault", h.with(faults)},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, h) })
	}
}

// cases are subtests by name.
type cases map[string]func(*testing.T, Host)

func (Host) with(c cases) func(*testing.T, Host) {
	return func(t *testing.T, h Host) {
		for _, name := range slices.Sorted(maps.Keys(c)) {
			t.Run(name, func(t *testing.T) { c[name](t, h) })
		}
	}
}
