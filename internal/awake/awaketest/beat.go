package awaketest

import (
	"fmt"
	"testing"
	"time"
)

const beat = "runs"

// Beat has this process say each few milliseconds, on its standard output, that it runs.
func Beat() {
	go func() {
		for range time.Tick(20 * time.Millisecond) {
			fmt.Println(beat)
		}
	}()
}

// Runs returns when the process that writes the lines has said a few times that it runs.
// It must say nothing else until then.
func Runs(t testing.TB, next func() string) {
	t.Helper()
	for range 10 {
		if got := next(); got != beat {
			t.Fatalf("the process says %q before it is answered", got)
		}
	}
}

// Next returns the next line that says something else.
func Next(next func() string) string {
	line := next()
	for line == beat {
		line = next()
	}
	return line
}
