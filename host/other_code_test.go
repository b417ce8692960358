package host_test

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/wire"
)

// guestsOfTwoCodes are the guest of the tests and one of other code, as two versions are.
func guestsOfTwoCodes(t *testing.T) [2]string {
	t.Helper()
	mine, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	other, err := hosttest.OtherGuest()
	if err != nil {
		t.Fatal(err)
	}
	return [2]string{mine, other}
}

// TestImagesBelongToTheirCode: one program makes other images in guests of other code, and
// neither guest takes the other's image.
func TestImagesBelongToTheirCode(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var pools [2]*guestrt.Pool
	var images [2][]byte
	for i, path := range guestsOfTwoCodes(t) {
		p, err := guestrt.NewPool(ctx, guestrt.Config{GuestPath: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		w, err := p.Acquire(ctx, "a", wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		cell := wire.Cell{Language: "javascript", Source: `const kept = new Map([["n", {n: 1}]]); await yield_control(); return kept.get("n").n`}
		if rep, err := w.Start(ctx, cell, nil, time.Time{}); err != nil || rep.Status != wire.StatusIdle {
			t.Fatalf("%+v, %v", rep, err)
		}
		if images[i], err = w.Snapshot(ctx, 0); err != nil {
			t.Fatal(err)
		}
		p.Release(w)
		pools[i] = p
	}
	for i, p := range pools {
		for j, image := range images {
			w, err := p.Acquire(ctx, "a", wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			err = w.Restore(ctx, image, wire.Limits{}, nil)
			var refused *guestrt.WorkerError
			if i == j && err != nil || i != j && (!errors.As(err, &refused) || refused.Reason != string(codemode.ReasonRestoreFailed)) {
				t.Errorf("guest %d restores image %d: %v", i, j, err)
			}
			p.Release(w)
		}
	}
}

// suspendedByOtherCode are programs, with the calls that each waits for in the end, and what
// it returns once people, tools and the clock have answered.
var suspendedByOtherCode = map[string]struct{ code, waitsFor, want string }{
	"yields":   {`const kept = new Map([["n", await tools.count({n: "yields"})]]); await yield_control(); await yield_control(); return kept.get("n").n`, "yield", `"yields"`},
	"timer":    {`const n = await tools.count({n: "timer"}); await new Promise((r) => setTimeout(r, 1500)); return n.n`, "", `"timer"`},
	"approval": {`const n = await tools.count({n: "approval"}); await tools.asked({n: "asked"}); return n.n`, "asked", `"approval"`},
	"flight":   {`const n = await tools.count({n: "flight"}); return [n.n, await tools.slow({})].join()`, "slow", `"flight,through"`},
	"parallel": {`const slow = tools.slow({}); const all = await Promise.all(["a", "b", "c"].map((n) => tools.count({n})));
		all.push({n: await slow}, await tools.count({n: "d"})); return all.map((r) => r.n).join()`, "slow", `"a,b,c,through,d"`},
}

// TestRunsOfOtherCodeGoOn: a host is killed while its runs wait for their callers, a timer, a
// person and calls in flight. A host with a guest of other code finishes each run, with the
// old guest from guest.builds and by a replay, and there is no effect twice. That is so from
// each code to the other.
func TestRunsOfOtherCodeGoOn(t *testing.T) {
	t.Parallel()
	guests := guestsOfTwoCodes(t)
	for name, tc := range map[string]struct{ from, to int }{"to new code": {0, 1}, "back": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			dir, builds := mkdir(t), filepath.Join(mkdir(t), "builds")
			g, desk := newGate(), newDesk()
			var calls []catalog.Invocation
			on := func(dir, builds, guest string, g *gate, calls *[]catalog.Invocation) *host.Host {
				slow, count := g.tool("slow"), counted("count", calls)
				asked := count
				slow.Idempotent, asked.Name = true, "asked"
				cfg := kept(t, dir, desk.config([]catalog.Tool{slow, count, asked}, asks(policy.ApprovalRequest{}, "asked")))
				cfg.Guests = host.GuestConfig{Path: guest, Builds: builds}
				return start(t, cfg)
			}
			first := on(dir, builds, guests[tc.from], g, &calls)
			ids := map[string]string{}
			for name, p := range suspendedByOtherCode {
				res := first.Exec(t.Context(), me, host.ExecInput{Code: p.code, Wait: 500 * time.Millisecond}) // before the timer
				for res.Status == host.StatusWaiting && pendingCalls(t, dir, res.RunID) != p.waitsFor {        // a slow machine
					res = first.WaitFor(t.Context(), me, res.RunID, 100*time.Millisecond)
				}
				if res.Status != host.StatusWaiting {
					t.Fatalf("%s: %s", name, show(res))
				}
				ids[name] = res.RunID
			}
			for range 2 {
				<-g.entered
			}
			killed := map[string]string{builds: filepath.Join(mkdir(t), "kept"), "": filepath.Join(mkdir(t), "replayed")}
			for _, to := range killed { // what is on disk when the host is killed now
				copyState(t, dir, to)
			}
			made := slices.Clone(calls)
			close(g.open)
			for builds, dir := range killed {
				calls, g := slices.Clone(made), newGate()
				close(g.open)
				second := on(dir, builds, guests[tc.to], g, &calls)
				allowAll(t, kept(t, dir, host.Config{}).Approvals.Store)
				for name, p := range suspendedByOtherCode {
					res := second.Wait(t.Context(), me, ids[name])
					for res.Status == host.StatusWaiting {
						res = second.Wait(t.Context(), me, ids[name])
					}
					if res.Status != host.StatusCompleted || string(res.Value) != p.want {
						t.Errorf("%s, builds %q: %s, want %s", name, builds, show(res), p.want)
					}
				}
				var inputs []string
				for _, c := range calls {
					inputs = append(inputs, string(c.Input))
				}
				slices.Sort(inputs)
				if got := strings.Join(inputs, ""); got != `{"n":"a"}{"n":"approval"}{"n":"asked"}{"n":"b"}{"n":"c"}{"n":"d"}{"n":"flight"}{"n":"timer"}{"n":"yields"}` {
					t.Errorf("builds %q: effects %s", builds, got)
				}
			}
		})
	}
}

// pendingCalls are the calls that a stored run waits for, by what they call.
func pendingCalls(t *testing.T, dir, id string) string {
	t.Helper()
	rec, err := openState(t, dir).Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range rec.Calls {
		out = append(out, strings.TrimPrefix(cmp.Or(c.Target, c.Method), "quoin:core:"))
	}
	return strings.Join(out, " ")
}

// TestAProgramThatSeesOtherCodeIsStopped: it takes another path there. Nothing is called twice,
// and its own guest finishes it.
func TestAProgramThatSeesOtherCodeIsStopped(t *testing.T) {
	t.Parallel()
	dir, guests := mkdir(t), guestsOfTwoCodes(t)
	var calls []catalog.Invocation
	on := func(guest string, previous ...string) *host.Host {
		return start(t, host.Config{Store: openState(t, dir), Tools: []catalog.Tool{counted("count", &calls)}, Guests: host.GuestConfig{Path: guest, Builds: buildsWith(t, previous...)}})
	}
	first := on(guests[1])
	id := wantWaiting(t, exec(first, `const names = Object.getOwnPropertyNames(globalThis);
		const swapped = names.indexOf("json") < names.indexOf("text");
		await tools.count({first: true}); await tools.count({swapped}); await yield_control(); return swapped`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := on(guests[0])
	wantFailure(t, second.Wait(t.Context(), me, id), codemode.CodeInvalidInput, codemode.ReasonReplayDiverged, codemode.PhaseHost)
	done, err := upgrade(t.Context(), second, codemode.UpgradeOptions{})
	var left *host.Error
	if err != nil || len(done) != 1 || !errors.As(done[0].Err, &left) || left.Reason != codemode.ReasonReplayDiverged {
		t.Errorf("upgraded %+v, %v", done, err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	wantValue(t, on(guests[0], guests[1]).Wait(t.Context(), me, id), `true`)
	if len(calls) != 2 {
		t.Errorf("%d calls, want 2", len(calls))
	}
}
