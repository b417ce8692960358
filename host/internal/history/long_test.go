package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/internal/history"
)

// manyEvents are the events of some 60,000 runs: more than an hour of make chaos had.
const manyEvents = 1_000_000

// longHistory returns the history of many clusters without bugs, and of one cluster for each
// bug.
func longHistory() []history.Event {
	all := make([]history.Event, 0, manyEvents)
	add := func(cluster string, events []history.Event) {
		for _, e := range events {
			e.Run = cluster + "/" + e.Run
			all = append(all, e)
		}
	}
	var sound [][]history.Event
	for seed := range uint64(seeds) {
		sound = append(sound, simulate(seed, bugs{}))
	}
	bugs := plantedBugs
	for i := 0; len(all) < manyEvents; i++ {
		add(fmt.Sprint("sound ", i), sound[i%seeds])
		if len(bugs) > 0 && i%100 == 50 {
			add(bugs[0].name, firstUnsound(bugs[0].bugs))
			bugs = bugs[1:]
		}
	}
	return all
}

// firstUnsound is the first history in which the bugs show.
func firstUnsound(b bugs) []history.Event {
	for seed := uint64(0); ; seed++ {
		if events := simulate(seed, b); len(history.Check(events)) > 0 {
			return events
		}
	}
}

// TestBugsAreFoundInALongHistory looks for a few bad runs among many.
func TestBugsAreFoundInALongHistory(t *testing.T) {
	found := map[string]bool{}
	for _, v := range history.Check(longHistory()) {
		cluster, _, _ := strings.Cut(v.Run, "/")
		if strings.HasPrefix(cluster, "sound") {
			t.Fatalf("a cluster without bugs: %s", v)
		}
		found[cluster] = true
	}
	for _, planted := range plantedBugs {
		if !found[planted.name] {
			t.Errorf("%s: not found", planted.name)
		}
	}
}

func BenchmarkCheckMillion(b *testing.B) {
	events := longHistory()
	b.ReportAllocs()
	for b.Loop() {
		history.Check(events)
	}
}
