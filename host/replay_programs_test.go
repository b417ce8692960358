package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
)

// contractPrograms are the programs by which the guest's globals are tested, each made one
// that is suspended with all that it has computed, and returns it then.
func contractPrograms(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"*.js", "*/*.js"} {
		files, err := filepath.Glob(filepath.Join("..", "guestrt", "internal", "prelude", "testdata", "js", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, chunk := range strings.Split("\n"+string(b), "\n//// ")[1:] {
				name, source, _ := strings.Cut(chunk, "\n")
				if name, ok := strings.CutPrefix(name, "table "); ok {
					for row := range strings.Lines(source) {
						expression, _, ok := strings.Cut(strings.ReplaceAll(row, "//! ", "//=> "), "//=> ")
						if ok {
							out[file+": "+name+": "+row] = suspending("return (" + expression + ")")
						}
					}
					continue
				}
				out[file+": "+name] = suspending(source)
			}
		}
	}
	return out
}

// suspending makes a program yield before it returns its outcome.
func suspending(source string) string {
	return "const came = await (async () => {" + source + "\n})().then((value) => ({value}), (error) => ({error: String(error)}));\nawait yield_control();\nreturn came"
}

// TestProgramsOfTheContractSurviveAnUpgrade: programs that one build has suspended finish on
// another, with the old build next to it and by a replay, and have the same outcome: a value,
// or the failure that the program is about.
func TestProgramsOfTheContractSurviveAnUpgrade(t *testing.T) {
	if testing.Short() {
		t.Skip("several hundred programs run on three hosts, which takes a minute on a slow machine")
	}
	t.Parallel()
	ctx, dir, old := context.Background(), mkdir(t), guestsOfTwoCodes(t)[1]
	settings := host.Settings{MaxSuspended: 10_000, Wait: 2 * time.Second}
	first := start(t, host.Config{Store: openState(t, dir), Settings: settings, Guests: host.GuestConfig{Path: old}})
	waiting := map[string]string{} // names by run
	for name, code := range contractPrograms(t) {
		if strings.Contains(name, "grows while it is read") {
			continue // it is about a time limit
		}
		if res := exec(first, code); res.Status == host.StatusWaiting && res.Reason == codemode.ReasonYield {
			waiting[res.RunID] = name
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if len(waiting) < 250 {
		t.Fatalf("only %d programs were suspended", len(waiting))
	}
	copied := filepath.Join(mkdir(t), "copy")
	copyState(t, dir, copied)
	both := start(t, host.Config{Store: openState(t, dir), Settings: settings, Guests: host.GuestConfig{Builds: buildsWith(t, old)}})
	alone := start(t, host.Config{Store: openState(t, copied), Settings: settings})
	for id, name := range waiting {
		want, got := both.Wait(ctx, me, id), alone.Wait(ctx, me, id)
		if want.Reason == codemode.ReasonRestoreFailed || got.Reason == codemode.ReasonReplayDiverged || outcomeOf(got) != outcomeOf(want) {
			t.Errorf("%s\nby the old guest %s\nby a replay      %s", name, outcomeOf(want), outcomeOf(got))
		}
	}
	t.Logf("%d programs", len(waiting))
}

func outcomeOf(r *host.Result) string { return string(r.Status) + " " + string(r.Value) + r.Error }
