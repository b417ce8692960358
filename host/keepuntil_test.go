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
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

// wantExpiry holds a run to expire between two times, by what its host says and by its store.
func wantExpiry(t *testing.T, h *host.Host, store runstore.Store, id string, from, to time.Time) {
	t.Helper()
	info, err := h.Run(t.Context(), id)
	if err != nil || info.Expires.Before(from) || info.Expires.After(to) {
		t.Errorf("the host has %v, %v; want it to expire from %v to %v", info.Expires, err, from, to)
	}
	rec, err := store.Get(t.Context(), id)
	if err != nil || rec.Expires.Before(from) || rec.Expires.After(to) {
		t.Errorf("the store has %v, %v; want it to expire from %v to %v", rec.Expires, err, from, to)
	}
}

// lateAskers are tools that ask a person once open is closed: the tool form by returning, the
// tool held in the middle of its call.
func lateAskers(open <-chan struct{}) []catalog.Tool {
	late := func(name string, ask func(context.Context, catalog.Invocation) error) catalog.Tool {
		return catalog.Tool{Name: name, Description: "Asks.", Invoke: func(ctx context.Context, inv catalog.Invocation) (json.RawMessage, error) {
			select {
			case <-open:
				return nil, ask(ctx, inv)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}
	}
	return []catalog.Tool{
		late("form", func(context.Context, catalog.Invocation) error {
			return &codemode.InputRequired{Questions: []codemode.Question{sizeQuestion("a")}}
		}),
		late("held", func(ctx context.Context, inv catalog.Invocation) error {
			_, err := inv.Ask(ctx, sizeQuestion("a"))
			return err
		}),
	}
}

// TestARunIsKeptAsLongAsItWaits for a person, a form or a timer, and for its own time after
// that: also where the person is asked when the run is suspended already.
func TestARunIsKeptAsLongAsItWaits(t *testing.T) {
	t.Parallel()
	const ttl, question, timer = time.Minute, 5 * time.Hour, 7 * time.Hour
	for name, open := range map[string]func() runstore.Store{
		"memory":    func() runstore.Store { return &runstore.Memory{} },
		"directory": func() runstore.Store { return openDir(t, mkdir(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, desk, store := make(chan struct{}), newDesk(), open()
			cfg := desk.config(append(lateAskers(asked), echo("guarded")), asks(policy.ApprovalRequest{Timeout: question}, "guarded"))
			cfg.Store, cfg.Settings.SnapshotTTL, cfg.Approvals.QuestionTimeout = store, ttl, question
			h := start(t, cfg)
			began := time.Now()
			wantWaiting(t, h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `return await tools.guarded()`}), host.ReasonApproval)
			for _, tool := range []string{"form", "held"} {
				id := execBriefly(t, h, host.ReasonPendingTools, `return await tools.`+tool+`()`)
				wantExpiry(t, h, store, id, began.Add(ttl), time.Now().Add(ttl))
			}
			close(asked)
			for range 3 {
				a := <-desk.asked
				wantExpiry(t, h, store, a.RunID, a.Expires.Add(ttl), a.Expires.Add(ttl))
			}
			id := execBriefly(t, h, host.ReasonTimer, fmt.Sprintf(`await new Promise(r => setTimeout(r, %d))`, timer.Milliseconds()))
			wantExpiry(t, h, store, id, began.Add(timer+ttl), time.Now().Add(timer+ttl))
		})
	}
}

// TestWithoutACallerARunIsKeptForItsNextTimer, and its result until its caller was told that
// the run is kept.
func TestWithoutACallerARunIsKeptForItsNextTimer(t *testing.T) {
	t.Parallel()
	const ttl, question, timer = time.Minute, 5 * time.Hour, 7 * time.Hour
	desk, store := newDesk(), openDir(t, mkdir(t))
	cfg := desk.config([]catalog.Tool{echo("guarded")}, asks(policy.ApprovalRequest{Timeout: question}, "guarded"))
	cfg.Store, cfg.Settings.SnapshotTTL = store, ttl
	h, told := advancing(t, cfg)
	began := time.Now()
	id := execBriefly(t, h, host.ReasonTimer, fmt.Sprintf(`
		await new Promise(r => setTimeout(r, 50));
		await new Promise(r => setTimeout(r, %d));`, timer.Milliseconds()))
	told.until(t, id, trajectory.RunSuspended)
	told.until(t, id, trajectory.RunSuspended)
	wantExpiry(t, h, store, id, began.Add(timer+ttl), time.Now().Add(timer+ttl))

	id = wantWaiting(t, h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `return await tools.guarded({})`}), host.ReasonApproval)
	a := <-desk.asked
	decide(t, h, a.ID, policy.AllowOnce)
	told.until(t, id, trajectory.RunEnded)
	h.Engine().Ended(id)
	if e, err := store.Ended(t.Context(), id); err != nil || !e.Expires.Equal(a.Expires.Add(ttl)) {
		t.Errorf("the result is kept as %+v, %v; want it kept until %v", e, err, a.Expires.Add(ttl))
	}
}

// TestApprovalsThatEndWithTheHost: a host whose runs outlive it says that what people are asked
// does not, unless it does.
func TestApprovalsThatEndWithTheHost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cfg  func(*host.Config)
		warn bool
	}{
		"all in memory":   {func(*host.Config) {}, false},
		"runs in a file":  {func(c *host.Config) { c.Store = openDir(t, mkdir(t)) }, true},
		"both in a file":  {func(c *host.Config) { *c = kept(t, t.TempDir(), *c) }, false},
		"runs in neither": {func(c *host.Config) { c.Store = &runstore.Memory{} }, false},
	} {
		log := &logged{}
		cfg := host.Config{Logger: log.jsonLogger()}
		tc.cfg(&cfg)
		start(t, cfg)
		if got := strings.Contains(log.text(), "set Config.Approvals.Store"); got != tc.warn {
			t.Errorf("%s: the log has\n%s", name, log.text())
		}
	}
}
