package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/history"
	"github.com/quoinhq/quoin/sdk"
)

var (
	chaosTime = flag.Duration("chaostime", 8*time.Second, "how long things break")
	chaosSeed = flag.Uint64("chaosseed", 0, "what breaks when; 0 takes one from the clock")
	chaosKeep = flag.String("chaoskeep", "", "folder to keep the history and the logs of the hosts in")
)

// TestMain makes the test binary the plugin.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == ledgerName {
		sdk.Serve(ledgerPlugin())
		return
	}
	os.Exit(m.Run())
}

const (
	clusterSize = 3
	users       = 6
	// healing is how long the cluster has, once everything is healed, to end every run.
	healing = 90 * time.Second
)

// world is the cluster, its clients, and what was seen of them.
type world struct {
	rec     *history.Recorder
	members []*member
	tally   tally
	faults  faultLog
}

func newWorld(t *testing.T) (*world, string) {
	t.Helper()
	dir, err := os.MkdirTemp(*chaosKeep, "qchaos")
	if err != nil {
		t.Fatal(err)
	}
	if *chaosKeep == "" {
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
	}
	events, err := os.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := events.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{
		rec:    history.NewRecorder(events),
		tally:  tally{refused: map[string]int{}, none: map[string]int{}},
		faults: faultLog{counts: map[string]int{}},
	}
	l := &ledger{rec: w.rec, highest: map[string]uint64{}}
	l.serve(t, filepath.Join(dir, "ledger"))
	binary := buildHost(t, dir)
	for i := range clusterSize {
		name := fmt.Sprint("host", i+1)
		w.members = append(w.members, &member{name: name, dir: filepath.Join(dir, name), binary: binary})
	}
	return w, dir
}

// configuration is what every host has, but for its state.
func configuration(dir string, m *member) map[string]any {
	return map[string]any{
		"tools": map[string]any{"codeMode": map[string]any{
			"enabled": true, "isolation": "best-effort", "maxSuspendedRuns": 10_000, "waitMs": 1000,
		}},
		"plugins": map[string]any{
			"dir":    filepath.Join(m.dir, "plugins"),
			"config": map[string]any{ledgerName: ledgerConfig{Socket: filepath.Join(dir, "ledger"), Host: m.name}},
		},
		"quotas": map[string]any{"sessionPercent": 100},
	}
}

// start starts the hosts with these configurations.
func (w *world) start(t *testing.T, dir string, amend func(m *member, config map[string]any)) {
	t.Helper()
	for _, m := range w.members {
		config := configuration(dir, m)
		amend(m, config)
		if err := m.install(config); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.kill)
		if err := m.start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// run has clients at work while things break, heals everything, and judges. The
// database is disturbed too if there are faults of it.
func (w *world) run(t *testing.T, ofDatabase []fault) {
	t.Helper()
	seed := *chaosSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), *chaosTime)
	defer cancel()
	var all []*user
	var working, breaking sync.WaitGroup
	for i := range users {
		u := &user{w: w, session: host.Session{SessionID: fmt.Sprint("user", i)}, rng: rand.New(rand.NewPCG(seed, uint64(i)))}
		all = append(all, u)
		working.Go(func() { u.work(ctx) })
	}
	for i, m := range w.members {
		rng := rand.New(rand.NewPCG(seed, uint64(100+i)))
		breaking.Go(func() { w.disturb(ctx, rng, m.name, w.faultsOf(m), 8*time.Second) })
	}
	if len(ofDatabase) > 0 {
		rng := rand.New(rand.NewPCG(seed, 200))
		breaking.Go(func() { w.disturb(ctx, rng, "database", ofDatabase, 15*time.Second) })
	}
	breaking.Wait()
	working.Wait()
	healed, cancel := context.WithTimeout(t.Context(), healing)
	defer cancel()
	start := time.Now()
	for _, u := range all {
		working.Go(func() { u.finish(healed) })
	}
	working.Wait()
	t.Logf("healed; every run was asked for within %s", time.Since(start).Round(time.Millisecond))
	for _, err := range w.faults.errs {
		t.Error(err)
	}
}

// judge fails the test for each promise that was broken.
func (w *world) judge(t *testing.T, more []history.Event) {
	t.Helper()
	events, err := w.rec.Events()
	if err != nil {
		t.Error(err)
	}
	events = append(events, more...)
	violations := history.Check(events)
	for i, v := range violations {
		if i == 20 {
			t.Errorf("and %d more", len(violations)-i)
			break
		}
		t.Error(v)
	}
	t.Log(history.Summary(events))
	for _, what := range slices.Sorted(maps.Keys(w.faults.counts)) {
		t.Logf("%4d %s", w.faults.counts[what], what)
	}
	t.Log(w.tally.String())
	if t.Failed() {
		for _, line := range w.faults.lines {
			t.Log(line)
		}
		for _, m := range w.members {
			t.Logf("%s: %s", m.name, m.lastWords())
		}
	}
}

// TestChaosOnDirectory kills hosts that share a directory on one machine.
func TestChaosOnDirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("load for 8 s; make test-all runs it")
	}
	w, dir := newWorld(t)
	w.start(t, dir, func(_ *member, config map[string]any) {
		config["state"] = map[string]any{"dir": filepath.Join(dir, "state")}
	})
	w.run(t, nil)
	w.judge(t, nil)
}
