package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/trajectory"
)

// TestAFloodOfDescriptionsIsBounded: a guest can ask for thousands of descriptions at once.
// The answers together would not fit the host's memory.
func TestAFloodOfDescriptionsIsBounded(t *testing.T) {
	t.Parallel()
	const size = 500 << 10
	big := echo("big")
	big.Parameters = json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", size) + `"}`)
	cfg := host.Config{Tools: []catalog.Tool{big}, Settings: host.Settings{Timeout: time.Minute}}
	h := start(t, cfg.WithTimes(func(n *host.Times) { n.Runs.QueryTime = time.Minute })) // the bound of bytes is the one that counts here
	r := exec(h, `const all = await Promise.allSettled(Array.from({length: 4096}, () => tools.describe("big")))
		const refused = all.filter((r) => r.status === "rejected").map((r) => r.reason)
		const again = await tools.describe("big")
		return [all.length - refused.length, [...new Set(refused.map((e) => e.code))], refused[0].message.includes("smaller batches"), again.name]`)
	wantValue(t, r, fmt.Sprintf(`[%d,["reply_too_large"],true,"big"]`, 16<<20/size+1))
}

// abortFirst is a sink that aborts at the first answer of the catalog.
type abortFirst struct {
	events
	abort context.CancelFunc
}

func (s *abortFirst) Record(e trajectory.Event) error {
	if e.Method == "search" {
		s.abort()
	}
	return s.events.Record(e)
}

// TestAnAbortEndsAFloodOfSearches: what the guest asks the catalog at once does not
// keep the host from ending the run.
func TestAnAbortEndsAFloodOfSearches(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sink := &abortFirst{abort: cancel}
	h := start(t, host.Config{Trajectory: host.TrajectoryConfig{Sink: sink}, Tools: []catalog.Tool{echo("echo")}})
	r := h.Exec(ctx, me, host.ExecInput{Code: `await Promise.all(Array.from({length: 100}, () => tools.search("echo")))`})
	wantFailure(t, r, codemode.CodeAborted, "", codemode.PhaseHost)
	answered := 0
	for _, e := range sink.of(trajectory.CallEnded) {
		if e.Outcome == trajectory.OutcomeOK {
			answered++
		}
	}
	if answered != 1 {
		t.Errorf("%d searches were answered, want the one before the abort", answered)
	}
}
