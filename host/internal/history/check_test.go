package history_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/internal/history"
)

const seeds = 100

// TestSoundClusterHasNoViolation also proves that the simulation does something: that
// hosts take over, are fenced, and that calls are in flight when they are.
func TestSoundClusterHasNoViolation(t *testing.T) {
	for _, b := range []bugs{{}, {noTokens: true}} {
		takeovers, unknown, refused := 0, 0, 0
		for seed := range uint64(seeds) {
			events := simulate(seed, b)
			for _, v := range history.Check(events) {
				t.Fatalf("seed %d: %s", seed, v)
			}
			for _, e := range events {
				switch {
				case e.Kind == history.Claimed && e.Epoch > 1:
					takeovers++
				case e.Kind == history.Completed:
					unknown += e.Unknown
				case e.Kind == history.Refused:
					refused++
				}
			}
		}
		if takeovers < seeds || unknown < seeds || refused == 0 && !b.noTokens {
			t.Errorf("%+v: %d takeovers, %d unknown effects, %d calls refused", b, takeovers, unknown, refused)
		}
	}
}

// plantedBugs are those that have to be found, and the rules that they break.
var plantedBugs = []struct {
	name string
	bugs bugs
	want []history.Rule // each is broken in some history
	most int            // how many of the histories may look sound
}{
	{"fencing is off", bugs{noFencing: true, noTokens: true}, []history.Rule{history.Fencing, history.Doubled}, seeds / 3},
	{"fencing is off, plugins compare epochs", bugs{noFencing: true}, []history.Rule{history.Fencing}, seeds / 3},
	{"epochs are not counted", bugs{sameEpoch: true}, []history.Rule{history.Epochs}, seeds / 3},
	{"calls are made before they are journaled", bugs{noJournal: true}, []history.Rule{history.Doubled}, seeds / 3},
	{"a takeover finds no record", bugs{forgets: true}, []history.Rule{history.Lost}, seeds / 3},
	{"a killed host keeps its runs", bugs{neverGoesOn: true}, []history.Rule{history.Lost}, seeds / 3},
	{"a takeover swallows a call", bugs{swallows: true}, []history.Rule{history.Answers}, seeds / 3},
	{"a takeover invents an answer", bugs{invents: true}, []history.Rule{history.Answers}, seeds / 3},
	{"a second delivery differs", bugs{otherResult: true}, []history.Rule{history.Results}, 0},
	{"a result is delivered to no client", bugs{deliversEmpty: true}, []history.Rule{history.Lost}, 0},
}

// TestPlantedBugsAreFound plants each bug and expects the rule that it breaks.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, test := range plantedBugs {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var found []history.Rule
			sound := 0
			for seed := range uint64(seeds) {
				violations := history.Check(simulate(seed, test.bugs))
				if len(violations) == 0 {
					sound++
				}
				for _, v := range violations {
					if len(v.Events) == 0 || v.Run == "" || !strings.Contains(v.String(), string(v.Rule)) {
						t.Fatalf("nothing proves %s", v)
					}
					found = append(found, v.Rule)
				}
			}
			for _, rule := range test.want {
				if !slices.Contains(found, rule) {
					t.Errorf("no history breaks %q", rule)
				}
			}
			if sound > test.most {
				t.Errorf("%d of %d histories look sound", sound, seeds)
			}
		})
	}
}

// TestBugsAreFoundWithoutTheStore leaves out what the store saw: clients and plugins
// alone must show that fencing is off.
func TestBugsAreFoundWithoutTheStore(t *testing.T) {
	caught := 0
	for seed := range uint64(seeds) {
		events := slices.DeleteFunc(simulate(seed, bugs{noFencing: true, noTokens: true}), func(e history.Event) bool {
			return e.Kind == history.Claimed || e.Kind == history.Written
		})
		for _, v := range history.Check(events) {
			if v.Rule == history.Doubled {
				caught++
				break
			}
		}
	}
	if caught < seeds/10 {
		t.Errorf("%d of %d histories show it", caught, seeds)
	}
}

func TestEndsOfRuns(t *testing.T) {
	const r = "run"
	told := history.Event{Kind: history.Suspended, Run: r}
	unanswered := history.Event{Kind: history.Unanswered, Run: r, At: 1}
	gone := history.Event{Kind: history.Gone, Run: r, At: 2}
	for _, test := range []struct {
		name   string
		events []history.Event
		lost   bool
	}{
		{"no client was told", []history.Event{{Kind: history.Effected, Run: r, Key: "run:1"}}, false},
		{"it never ends", []history.Event{told}, true},
		{"it never answers", []history.Event{told, unanswered}, true},
		{"it completes", []history.Event{told, {Kind: history.Completed, Run: r}}, false},
		{"it is aborted", []history.Event{told, {Kind: history.Aborted, Run: r}}, false},
		{"the host fails it", []history.Event{told, {Kind: history.Failed, Run: r}}, true},
		{"the answer was lost on the way", []history.Event{told, unanswered, gone}, false},
		{"the result never left the store", []history.Event{told, unanswered, gone, {Kind: history.Kept, Run: r}}, true},
		{"a result that was given is in the store", []history.Event{told, {Kind: history.Completed, Run: r}, {Kind: history.Kept, Run: r}}, false},
		{"there was no answer to lose", []history.Event{told, gone, {Kind: history.Unanswered, Run: r, At: 3}}, true},
	} {
		got := history.Check(test.events)
		if lost := len(got) == 1 && got[0].Rule == history.Lost; lost != test.lost || len(got) > 1 {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestIdempotentCallsMayTakeEffectAgain(t *testing.T) {
	again := history.Event{Kind: history.Effected, Run: "run", Key: "run:1", Idempotent: true}
	if got := history.Check([]history.Event{again, again}); len(got) > 0 {
		t.Error(got)
	}
	again.Idempotent = false
	if got := history.Check([]history.Event{again, again}); len(got) != 1 || got[0].Rule != history.Doubled {
		t.Error(got)
	}
}
