package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/sqlite"
)

// crashKey makes the test binary a host that suspends and resumes a run in the
// directory crashKey names, gets stuck at the stage that crashStage names, says
// so, and waits to be killed. crashKind says what kind of tool it calls.
const (
	crashKey   = "QUOIN_TEST_CRASH"
	crashStage = "QUOIN_TEST_CRASH_STAGE"
	crashKind  = "QUOIN_TEST_CRASH_KIND"
)

// crashCode makes two calls after it was resumed, and notes what came of them.
const crashCode = `
await yield_control();
text("resumed");
const got = [];
for (const name of ["first", "second"]) {
  try { got.push(await tools[name]({})) } catch (e) { got.push(e.effectStatus) }
  text(name + " " + got.at(-1));
}
return got`

// crashing is a host that gets stuck.
type crashing struct {
	runstore.Store
	stage                 string
	checkpoints, journals int
}

// at says that a stage is reached, if it is the one to get stuck at.
func (c *crashing) at(stage string) {
	if c.stage == stage {
		fmt.Println("ready")
		select {}
	}
}

func (c *crashing) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(c)(c.Store.Create(ctx, r, max))
}

func (c *crashing) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(c)(c.Store.Claim(ctx, id))
}

// Checkpoint is called before each of the two calls.
func (c *crashing) checkpoint(ctx context.Context, claim runstore.Claim, r *runstore.Record) error {
	c.checkpoints++
	c.at([]string{"", "resumed", "first delivered"}[c.checkpoints])
	err := claim.Checkpoint(ctx, r)
	c.at([]string{"", "first recorded", "second recorded"}[c.checkpoints])
	return err
}

// PutCalls is called after each of them.
func (c *crashing) putCalls(ctx context.Context, claim runstore.Claim, generation uint64, calls []runstore.Call) error {
	c.journals++
	c.at([]string{"", "first answered", "second answered"}[c.journals])
	err := claim.PutCalls(ctx, generation, calls)
	c.at([]string{"", "first settled", "second settled"}[c.journals])
	return err
}

// crashTools are two tools that write down their calls.
func crashTools(dir, kind string, entered func(name string)) []catalog.Tool {
	var tools []catalog.Tool
	for _, name := range []string{"first", "second"} {
		tools = append(tools, catalog.Tool{
			Name: name, Description: "Writes itself down.",
			ReadOnly: kind == "read-only", Idempotent: kind == "idempotent",
			Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
				f, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err != nil {
					return nil, err
				}
				_, err = fmt.Fprintf(f, "%s %s\n", name, strings.TrimPrefix(c.IdempotencyKey, c.RunID))
				if err := errors.Join(err, f.Close()); err != nil {
					return nil, err
				}
				entered(name)
				return json.RawMessage(`"done"`), nil
			},
		})
	}
	return tools
}

// crash is the whole life of that host.
func crash(dir string) error {
	s, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return err
	}
	c := &crashing{Store: s, stage: os.Getenv(crashStage)}
	h, err := host.New(context.Background(), host.Config{
		Guests: host.GuestConfig{Path: os.Getenv(doomedGuest)},
		Store:  c,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Tools:  crashTools(dir, os.Getenv(crashKind), func(name string) { c.at(name + " in flight") }),
	})
	if err != nil {
		return err
	}
	r := exec(h, crashCode)
	if r.Status != host.StatusWaiting {
		return fmt.Errorf("got %s", show(r))
	}
	fmt.Println(r.RunID)
	c.at("parked")
	return fmt.Errorf("never got to the stage %q: %s", c.stage, show(h.Wait(context.Background(), me, r.RunID)))
}

// crashed runs such a host, kills it, and returns the id of its run.
func crashed(t *testing.T, dir, stage, kind string) string {
	t.Helper()
	return killedHost(t, crashKey+"="+dir, crashStage+"="+stage, crashKind+"="+kind)
}

// TestHostIsKilledAtAnyStage: whenever a host is killed, another host continues its resumed
// run: answers that were there are delivered, calls in flight are made again only where that
// is harmless, and no output is lost or doubled.
func TestHostIsKilledAtAnyStage(t *testing.T) {
	t.Parallel()
	const once = "first :2\nsecond :3\n"
	for _, tc := range []struct {
		stage, kind string
		want        string // the value
		calls       string // of both hosts together
	}{
		{"parked", "plain", `["done","done"]`, once},
		{"resumed", "plain", `["done","done"]`, once},
		{"first recorded", "plain", `["unknown","done"]`, "second :3\n"},
		{"first recorded", "idempotent", `["done","done"]`, once},
		{"first in flight", "plain", `["unknown","done"]`, once},
		{"first in flight", "read-only", `["done","done"]`, "first :2\nfirst :2\nsecond :3\n"},
		{"first in flight", "idempotent", `["done","done"]`, "first :2\nfirst :2\nsecond :3\n"},
		{"first answered", "plain", `["unknown","done"]`, once},
		{"first answered", "idempotent", `["done","done"]`, "first :2\nfirst :2\nsecond :3\n"},
		{"first settled", "plain", `["done","done"]`, once},
		{"first delivered", "plain", `["done","done"]`, once},
		{"second recorded", "plain", `["done","unknown"]`, "first :2\n"},
		{"second in flight", "plain", `["done","unknown"]`, once},
		{"second in flight", "idempotent", `["done","done"]`, "first :2\nsecond :3\nsecond :3\n"},
		{"second settled", "plain", `["done","done"]`, once},
	} {
		t.Run(tc.stage+"/"+tc.kind, func(t *testing.T) {
			dir := mkdir(t)
			id := crashed(t, dir, tc.stage, tc.kind)
			h := start(t, host.Config{Store: openState(t, dir), Tools: crashTools(dir, tc.kind, func(string) {})})
			r := h.Wait(context.Background(), me, id)
			wantValue(t, r, tc.want)
			var want, got []string
			var value []string
			if err := json.Unmarshal(r.Value, &value); err != nil {
				t.Fatal(err)
			}
			want = []string{"resumed", "first " + value[0], "second " + value[1]}
			for _, o := range r.Output {
				got = append(got, o.Text())
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("output (-want +got):\n%s", d)
			}
			if r.Telemetry.CallCount != 2 {
				t.Errorf("callCount %d, want 2", r.Telemetry.CallCount)
			}
			calls, err := os.ReadFile(filepath.Join(dir, "calls"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.calls, string(calls)); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
			wantFailure(t, h.Wait(context.Background(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
			if files, err := filepath.Glob(filepath.Join(dir, "run_*")); err != nil || len(files) != 0 {
				t.Errorf("the run left %v, %v", files, err)
			}
		})
	}
}

// TestHostIsKilledWhileItWrites: if the last answer is not in the store, the answer
// has never been there, and the effect of the call is unknown.
func TestHostIsKilledWhileItWrites(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	id := crashed(t, dir, "first settled", "plain")
	alterState(t, dir, `DELETE FROM journal WHERE n = (SELECT max(n) FROM journal)`)
	h := start(t, host.Config{Store: openState(t, dir), Tools: crashTools(dir, "plain", func(string) {})})
	wantValue(t, h.Wait(context.Background(), me, id), `["unknown","done"]`)
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("first :2\nsecond :3\n", string(calls)); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}
