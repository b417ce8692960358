package journal

import (
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
)

// TestARecordOfAnotherClaimIsNotCurrent: this process was told that its write has failed,
// and another host has written the same generation since.
func TestARecordOfAnotherClaimIsNotCurrent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		newest Version
		stored runstore.Record
		want   bool
	}{
		{"what this process wrote", Version{2, 3}, runstore.Record{Generation: 2, Epoch: 3}, true},
		{"of a later claim", Version{2, 3}, runstore.Record{Generation: 2, Epoch: 4}, false},
		{"of another generation", Version{2, 3}, runstore.Record{Generation: 3, Epoch: 3}, false},
		{"a program that goes on", Version{2, 3}, runstore.Record{Generation: 2, Epoch: 3, Live: true}, false},
		{"its first, whose answer was lost", Version{1, 0}, runstore.Record{Generation: 1, Epoch: 1}, true},
	} {
		if got := (&Record{newest: tt.newest}).IsCurrent(&tt.stored); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
