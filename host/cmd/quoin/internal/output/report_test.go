package output

import (
	"slices"
	"testing"
)

// TestCounts: a problem that was found again and again is said once.
func TestCounts(t *testing.T) {
	t.Parallel()
	got := Counts([]string{"a", "b", "a", "c", "a"})
	if want := []string{"3 × a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
