package drive_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/runstore"
)

var (
	mallory = codemode.Session{AgentID: "agent", SessionID: "mallory"}
	alice   = codemode.Session{AgentID: "agent", SessionID: "alice"}
)

// as runs a program for a session.
func as(t *testing.T, h *Host, s codemode.Session, p Program) *codemode.Result {
	return h.Exec(t.Context(), s, run.Input{Code: Source(p)})
}

// grows returns a program that yields with an image of more than that many bytes.
func grows(bytes int) Program {
	return func(g *Guest) any {
		g.Grow(bytes)
		g.Yield()
		return 42
	}
}

func wantWords(t *testing.T, r *codemode.Result, words ...string) {
	t.Helper()
	for _, want := range words {
		if !strings.Contains(r.Error, want) {
			t.Errorf("no %q in %s", want, Show(r))
		}
	}
}

// TestMalloryTakesAllSheCan of what a host shares out, and alice works on.
func TestMalloryTakesAllSheCan(t *testing.T) {
	for name, take := range map[string]func(*testing.T){
		"places for runs": takePlaces, "places of an agent": takePlacesOfAnAgent,
		"workers": takeWorkers, "a worker in vain": takeAWorkerInVain,
		"processor time": takeProcessorTime, "bytes of the store": takeStoredBytes,
	} {
		t.Run(name, func(t *testing.T) { InBubble(t, take) })
	}
}

func takePlaces(t *testing.T) {
	h := Start(t, Setup{Settings: codemode.Settings{MaxSuspended: 8}})
	for range 4 {
		WantWaiting(t, as(t, h, mallory, yields), codemode.ReasonYield)
	}
	r := as(t, h, mallory, yields)
	WantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonTooManySuspended, codemode.PhaseHost)
	wantWords(t, r, "this session has 4 suspended runs", "4 of the host's 8", "quotas.sessionPercent: 50", "tools.codeMode.maxSuspendedRuns")
	id := WantWaiting(t, as(t, h, alice, yields), codemode.ReasonYield)
	WantValue(t, h.Wait(t.Context(), alice, id, 0), `42`)
	if n, err := h.EndSession(t.Context(), mallory); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	WantWaiting(t, as(t, h, mallory, yields), codemode.ReasonYield)
}

func takePlacesOfAnAgent(t *testing.T) {
	h := Start(t, Setup{Settings: codemode.Settings{MaxSuspended: 8}, Quotas: codemode.Quotas{SessionPercent: 100, AgentPercent: 50}})
	for i := range 4 {
		WantWaiting(t, as(t, h, codemode.Session{AgentID: "x", SessionID: fmt.Sprint(i)}, yields), codemode.ReasonYield)
	}
	wantWords(t, as(t, h, codemode.Session{AgentID: "x", SessionID: "5"}, yields), "this agent has 4")
	WantWaiting(t, as(t, h, codemode.Session{AgentID: "y"}, yields), codemode.ReasonYield)
}

// computing starts programs of mallory that compute until the returned function is called.
func computing(t *testing.T, h *Host, n int) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan *codemode.Result, n)
	for range n {
		go func() {
			ended <- h.Exec(ctx, mallory, run.Input{Code: Source(func(g *Guest) any {
				g.Compute(50 * time.Second)
				return 1
			})})
		}()
	}
	synctest.Wait()
	return func() {
		cancel()
		for range n {
			WantFailure(t, <-ended, codemode.CodeAborted, "", codemode.PhaseHost)
		}
	}
}

func takeWorkers(t *testing.T) {
	h := Start(t, Setup{MaxWorkers: 2, Settings: codemode.Settings{Timeout: time.Minute}})
	end := computing(t, h, 6)
	one := func(*Guest) any { return 1 }
	WantTook(t, 0, func() { WantValue(t, as(t, h, alice, one), `1`) })
	end()
	WantValue(t, as(t, h, alice, one), `1`)
}

func takeAWorkerInVain(t *testing.T) {
	h := Start(t, Setup{MaxWorkers: 2, Settings: codemode.Settings{Timeout: time.Minute}})
	defer computing(t, h, 1)()
	r := h.Exec(t.Context(), mallory, run.Input{Code: Source(yields), Wait: time.Second})
	WantFailure(t, r, codemode.CodeUnavailable, "", codemode.PhaseHost)
	wantWords(t, r, "every guest worker is busy", "this session has 1 guest workers", "1 of the host's 2", "guest.maxWorkers")
}

// takeProcessorTime: once the time of an hour is used up, nothing of the session starts, and a
// run is kept as it was.
func takeProcessorTime(t *testing.T) {
	h := Start(t, Setup{Settings: codemode.Settings{SnapshotTTL: 3 * time.Hour}, Quotas: codemode.Quotas{CPUSecondsPerHour: 20, SessionPercent: 10}})
	id := WantWaiting(t, as(t, h, mallory, func(g *Guest) any {
		for {
			g.Yield()
			g.Spend(time.Second)
		}
	}), codemode.ReasonYield)
	goOn := func() *codemode.Result { return h.Wait(t.Context(), mallory, id, 0) }
	for range 2 {
		WantWaiting(t, goOn(), codemode.ReasonYield)
	}
	for _, r := range []*codemode.Result{goOn(), as(t, h, mallory, yields)} {
		WantFailure(t, r, codemode.CodeUnavailable, codemode.ReasonQuota, codemode.PhaseHost)
		wantWords(t, r, "quotas.cpuSecondsPerHour")
	}
	WantWaiting(t, as(t, h, alice, yields), codemode.ReasonYield)
	time.Sleep(2 * time.Hour)
	WantWaiting(t, goOn(), codemode.ReasonYield)
}

// takeStoredBytes: a run that does not fit any more is not suspended.
func takeStoredBytes(t *testing.T) {
	h := Start(t, Setup{Quotas: codemode.Quotas{StoredBytes: 1 << 20}})
	var ids []string
	for range 2 {
		ids = append(ids, WantWaiting(t, as(t, h, mallory, grows(200<<10)), codemode.ReasonYield))
	}
	r := as(t, h, mallory, grows(200<<10))
	WantFailure(t, r, codemode.CodeSnapshotLimit, codemode.ReasonQuota, codemode.PhaseHost)
	wantWords(t, r, "quotas.storedBytes")
	WantWaiting(t, as(t, h, alice, grows(200<<10)), codemode.ReasonYield)
	for _, id := range ids {
		h.Abort(t.Context(), mallory, id)
	}
	WantWaiting(t, as(t, h, mallory, grows(200<<10)), codemode.ReasonYield)
}

// TestImagesAreCharged while they are in memory.
func TestImagesAreCharged(t *testing.T) {
	for name, tt := range map[string]struct {
		store runstore.Store
		holds bool
	}{"the host keeps them": {&runstore.Memory{}, true}, "the store outlives the host": {NewKept(), false}} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h := Start(t, Setup{Store: tt.store, Quotas: codemode.Quotas{HeldBytes: 16 << 20}})
				r := h.Run(grows(100_000))
				id := WantWaiting(t, r, codemode.ReasonYield)
				if got := h.Inspect().Taken()["bytes"]; (got >= int64(r.Telemetry.SnapshotBytes)) != tt.holds {
					t.Errorf("%d bytes are charged for an image of %d", got, r.Telemetry.SnapshotBytes)
				}
				WantValue(t, h.Resume(id), `42`)
				if left := h.Inspect().Taken(); len(left) != 0 {
					t.Errorf("taken: %v", left)
				}
			})
		})
	}
}

// TestARunThatFindsNoRoomIsKept: a stored run keeps waiting if its image is larger than its
// session may hold, and a host with more room finishes it.
func TestARunThatFindsNoRoomIsKept(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		large := Setup{Store: NewKept()}
		first := Start(t, large)
		id := WantWaiting(t, first.Run(grows(9<<20)), codemode.ReasonYield)
		first.Shut()
		small := Start(t, Setup{Store: large.Store, Quotas: codemode.Quotas{HeldBytes: 16 << 20}})
		for range 2 {
			r := small.Resume(id)
			if r.Reason != codemode.ReasonQuota || !strings.Contains(r.Error, "kept as it was") || strings.Contains(r.Error, "was ended") {
				t.Fatalf("got %s", Show(r))
			}
		}
		small.Shut()
		WantValue(t, Start(t, large).Resume(id), `42`)
	})
}
