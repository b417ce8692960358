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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/sqlite"
)

// inquiringKey makes the test binary a host with a tool that asks a person, in the state
// directory that it names. It answers itself, gets stuck at the stage that inquiringStage
// names, says so, and waits to be killed. inquiringKind says what kind of tool it is.
const (
	inquiringKey   = "QUOIN_TEST_INQUIRING"
	inquiringStage = "QUOIN_TEST_INQUIRING_STAGE"
	inquiringKind  = "QUOIN_TEST_INQUIRING_KIND"
)

const inquiringCode = `
await yield_control();
try { return await tools.order({n: 1}) } catch (e) { return [e.code, e.effectStatus] }`

// stuck gets stuck at one stage.
type stuck struct {
	runstore.Store
	stage string
}

func (s *stuck) at(stage string) {
	if s.stage == stage {
		fmt.Println("ready")
		select {}
	}
}

func (s *stuck) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(s)(s.Store.Create(ctx, r, max))
}

func (s *stuck) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(s)(s.Store.Claim(ctx, id))
}

// PutCalls is called before the question is put, before the tool is invoked again, and
// after that.
func (s *stuck) putCalls(ctx context.Context, claim runstore.Claim, generation uint64, calls []runstore.Call) error {
	before, after := "", ""
	switch c := calls[0]; {
	case c.State == runstore.CallApproval:
		before, after = "returned", "journaled"
	case c.State == runstore.CallInFlight && c.Approval != "":
		before, after = "answered", "recorded"
	case c.State == runstore.CallInFlight && c.Held != "":
		before, after = "held", "held and journaled"
	case c.State == runstore.CallSettled:
		before, after = "done", "settled"
	}
	s.at(before)
	err := claim.PutCalls(ctx, generation, calls)
	s.at(after)
	return err
}

// recordingShop is a tool that asks and writes down what it is invoked for.
func recordingShop(dir, kind string, at func(stage string)) catalog.Tool {
	note := func(what string) error {
		f, err := os.OpenFile(filepath.Join(dir, "invocations"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(what + "\n")
		return errors.Join(err, f.Close())
	}
	return catalog.Tool{
		Name: "order", Description: "Orders once it knows the size.", Idempotent: strings.HasPrefix(kind, "idempotent"),
		Invoke: func(ctx context.Context, inv catalog.Invocation) (json.RawMessage, error) {
			at("invoked")
			var content json.RawMessage
			switch {
			case strings.HasSuffix(kind, "held"):
				if err := note("asks"); err != nil {
					return nil, err
				}
				got, err := inv.Ask(ctx, sizeQuestion("a"))
				if err != nil {
					return nil, err
				}
				content = got.Content
			case inv.Resumption == nil:
				return nil, errors.Join(note("asks"), &codemode.InputRequired{Questions: []codemode.Question{sizeQuestion("a")}, State: json.RawMessage(`"cart 7"`)})
			default:
				at("invoked again")
				content = inv.Resumption.Answers["a"].Content
			}
			err := note("orders " + string(content) + " " + inv.IdempotencyKey[len(inv.RunID):])
			at("ordered")
			return json.RawMessage(`"ordered"`), err
		},
	}
}

// inquiring is the whole life of that host.
func inquiring(dir string) error {
	state, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return err
	}
	approvals := state.Approvals()
	s := &stuck{state, os.Getenv(inquiringStage)}
	h, err := host.New(context.Background(), host.Config{
		Guests: host.GuestConfig{Path: os.Getenv(doomedGuest)},
		Store:  s,
		Approvals: host.ApprovalConfig{Store: approvals, OnNew: func(a *policy.Approval) {
			s.at("asked")
			if _, err := policy.Answer(context.Background(), approvals, a.ID, inSize("M"), "self", time.Now()); err != nil {
				fmt.Println(err)
			}
		}},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Tools:  []catalog.Tool{recordingShop(dir, os.Getenv(inquiringKind), s.at)},
	})
	if err != nil {
		return err
	}
	r := exec(h, inquiringCode)
	if r.Status != host.StatusWaiting {
		return fmt.Errorf("got %s", show(r))
	}
	fmt.Println(r.RunID)
	return fmt.Errorf("never got to the stage %q: %s", s.stage, show(h.Wait(context.Background(), me, r.RunID)))
}

func inSize(size string) replies {
	return replies{"a": accepted(fmt.Sprintf(`{"size":%q}`, size))}
}

// inquired runs such a host, kills it, and returns the id of its run.
func inquired(t *testing.T, dir, stage, kind string) string {
	t.Helper()
	return killedHost(t, inquiringKey+"="+dir, inquiringStage+"="+stage, inquiringKind+"="+kind)
}

// TestHostIsKilledAroundAQuestion: whenever a host is killed between the first invocation
// of a tool that asks and its last, the next one makes the call exactly once, or says
// that its effect is unknown.
func TestHostIsKilledAroundAQuestion(t *testing.T) {
	t.Parallel()
	const (
		ordered = `"ordered"`
		unknown = `["interrupted","unknown"]`
		inS     = `orders {"size":"S"} :2`
		inM     = `orders {"size":"M"} :2`
	)
	for _, tc := range []struct {
		stage, kind string
		waits, asks bool // a question of the first host waits; the second host asks one
		want        string
		invocations []string // of both hosts together
	}{
		{"invoked", "plain", false, false, unknown, nil},
		{"invoked", "idempotent", false, true, ordered, []string{"asks", inS}},
		{"returned", "plain", false, false, unknown, []string{"asks"}},
		{"returned", "idempotent", false, true, ordered, []string{"asks", "asks", inS}},
		{"journaled", "plain", false, true, ordered, []string{"asks", "asks", inS}},
		{"asked", "plain", true, false, ordered, []string{"asks", inS}},
		{"answered", "plain", false, false, ordered, []string{"asks", inM}},
		{"recorded", "plain", false, false, unknown, []string{"asks"}},
		{"recorded", "idempotent", false, false, ordered, []string{"asks", inM}},
		{"invoked again", "plain", false, false, unknown, []string{"asks"}},
		{"invoked again", "idempotent", false, false, ordered, []string{"asks", inM}},
		{"ordered", "plain", false, false, unknown, []string{"asks", inM}},
		{"ordered", "idempotent", false, false, ordered, []string{"asks", inM, inM}},
		{"done", "plain", false, false, unknown, []string{"asks", inM}},
		{"settled", "plain", false, false, ordered, []string{"asks", inM}},
		// The call is held open while its tool asks: no host can resume it.
		{"held", "held", false, false, unknown, []string{"asks"}},
		{"held and journaled", "held", false, false, unknown, []string{"asks"}},
		{"asked", "held", false, false, unknown, []string{"asks"}},
		{"asked", "idempotent held", false, true, ordered, []string{"asks", "asks", inS}},
		{"ordered", "held", false, false, unknown, []string{"asks", inM}},
	} {
		t.Run(tc.stage+"/"+tc.kind, func(t *testing.T) {
			t.Parallel()
			dir := mkdir(t)
			id := inquired(t, dir, tc.stage, tc.kind)
			desk := newDesk()
			h := start(t, kept(t, dir, desk.config([]catalog.Tool{recordingShop(dir, tc.kind, func(string) {})})))
			done := make(chan *host.Result, 1)
			go func() { done <- h.Wait(context.Background(), me, id) }()
			if tc.waits {
				list, err := h.Approvals().List(t.Context(), policy.Filter{RunID: id})
				if err != nil || len(list) != 1 {
					t.Fatalf("%d questions wait, %v", len(list), err)
				}
				reply(t, h, list[0].ID, inSize("S"))
			}
			if tc.asks {
				reply(t, h, (<-desk.asked).ID, inSize("S"))
			}
			wantValue(t, <-done, tc.want)
			if len(desk.asked) != 0 {
				t.Error("someone was asked again")
			}
			if list, err := h.Approvals().List(t.Context(), policy.Filter{}); err != nil || len(list) != 0 {
				t.Errorf("%d questions wait still, %v", len(list), err)
			}
			b, err := os.ReadFile(filepath.Join(dir, "invocations"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(strings.Split(string(b), "\n"), func(s string) bool { return s == "" })
			if diff := cmp.Diff(tc.invocations, got[:len(got):len(got)]); diff != "" && len(tc.invocations)+len(got) > 0 {
				t.Errorf("invocations (-want +got):\n%s", diff)
			}
		})
	}
}
