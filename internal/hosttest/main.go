package hosttest

import (
	"flag"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// atOnce is how many parallel tests of a package run at once unless -parallel says so.
// They wait for guests, timers and people far more than they compute.
const atOnce = "4"

// memory is where the garbage collector of a test process starts to work harder. To start
// a guest in namespaces of its own the system copies the page tables of the process that
// starts it: in a process of 900 MB that was a third of all processor time.
const memory = 300 << 20

// Main is the TestMain of packages with parallel tests that wait: it runs the tests, more
// of them at once than there are processors, and looks for goroutines that they leave
// behind.
func Main(m *testing.M) {
	ManyAtOnce()
	debug.SetMemoryLimit(memory)
	goleak.VerifyTestMain(m)
}

// ManyAtOnce has parallel tests run many at once, for a TestMain that is not Main.
func ManyAtOnce() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			panic(err) // package testing has the flag
		}
	}
}

// Serial marks a test that cannot run next to other tests of its package, and says why.
// Every other test of a package that waits calls t.Parallel.
func Serial(t testing.TB, reason string) {
	t.Helper()
	if reason == "" {
		t.Fatal("say why this test cannot run next to others")
	}
}
