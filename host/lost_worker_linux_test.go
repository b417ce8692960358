package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/sqlite"
)

// TestARunOutlivesItsKilledWorker: a run that is in the store continues from there when its
// worker is killed. It does so once.
func TestARunOutlivesItsKilledWorker(t *testing.T) {
	t.Parallel()
	p := startHost(t, struckTwiceKey+"="+t.TempDir())
	var results []*host.Result
	said := p.next()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.stderr.String())
	}
	if err := json.Unmarshal([]byte(said), &results); err != nil || len(results) != 4 {
		t.Fatalf("the host said %q: %v", said, err)
	}
	wantFailure(t, results[0], codemode.CodeUnavailable, codemode.ReasonRunBusy, codemode.PhaseHost)
	wantValue(t, results[1], `["done","stored"]`)
	wantFailure(t, results[2], codemode.CodeUnavailable, codemode.ReasonRunBusy, codemode.PhaseHost)
	wantFailure(t, results[3], codemode.CodeUnavailable, codemode.ReasonWorkerCrashed, codemode.PhaseHost)
}

// struckTwiceKey makes the test binary the host of that test. Its value is the store.
const struckTwiceKey = "QUOIN_TEST_STRUCK_TWICE"

func serveStruckTwice() error {
	store, err := sqlite.Open(context.Background(), os.Getenv(struckTwiceKey), sqlite.Options{})
	if err != nil {
		return err
	}
	var stop atomic.Bool
	// The guest may have left its worker already; then it calls again, or no worker can take it and
	// it waits.
	strike := catalog.Tool{Name: "strike", Description: "Kills the workers.", Idempotent: true, Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		if stop.Load() {
			return json.RawMessage(`"done"`), nil
		}
		workers, err := children()
		for _, pid := range workers {
			if e := syscall.Kill(pid, syscall.SIGKILL); !errors.Is(e, syscall.ESRCH) {
				err = errors.Join(err, e)
			}
		}
		return json.RawMessage(`"struck"`), err
	}}
	h, err := host.New(context.Background(), host.Config{
		Store: store, Tools: []catalog.Tool{strike}, Guests: host.GuestConfig{Path: os.Getenv(doomedGuest)}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	var results []*host.Result
	for range 2 {
		id := exec(h, `const kept = "stored"; await yield_control(); for (;;) { const said = await tools.strike({}); if (said === "done") return [said, kept] }`).RunID
		for range 2 {
			r := h.Wait(context.Background(), me, id)
			for r.Status == host.StatusWaiting {
				r = h.Wait(context.Background(), me, id)
			}
			results = append(results, r)
			stop.Store(len(results) == 1)
		}
	}
	said, merr := json.Marshal(results)
	fmt.Println(string(said))
	return errors.Join(merr, h.Close())
}
