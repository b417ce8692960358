package runstest

import (
	"testing"
	"time"
)

// Took returns how much time passes while f runs.
func Took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// WantTook fails the test unless f takes a time.
func WantTook(t testing.TB, want time.Duration, f func()) {
	t.Helper()
	if took := Took(f); took != want {
		t.Errorf("it took %v, want %v", took, want)
	}
}
