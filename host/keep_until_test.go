package host_test

import (
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
	info, err := h.Runs().Get(t.Context(), id)
	if err != nil || info.Expires.Before(from) || info.Expires.After(to) {
		t.Errorf("the host has %v, %v; want it to expire from %v to %v", info.Expires, err, from, to)
	}
	rec, err := store.Get(t.Context(), id)
	if err != nil || rec.Expires.Before(from) || rec.Expires.After(to) {
		t.Errorf("the store has %v, %v; want it to expire from %v to %v", rec.Expires, err, from, to)
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
	id := execBriefly(t, h, codemode.ReasonTimer, fmt.Sprintf(`
		await new Promise(r => setTimeout(r, 50));
		await new Promise(r => setTimeout(r, %d));`, timer.Milliseconds()))
	told.until(t, id, trajectory.RunSuspended)
	told.until(t, id, trajectory.RunSuspended)
	wantExpiry(t, h, store, id, began.Add(timer+ttl), time.Now().Add(timer+ttl))

	id = wantWaiting(t, h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `return await tools.guarded({})`}), codemode.ReasonApproval)
	a := <-desk.asked
	decide(t, h, a.ID, policy.AllowOnce)
	told.until(t, id, trajectory.RunEnded)
	h.Engine().Ended(id)
	if e, err := store.Ended(t.Context(), id); err != nil || !e.Expires.Equal(a.Expires.Add(ttl)) {
		t.Errorf("the result is kept as %+v, %v; want it kept until %v", e, err, a.Expires.Add(ttl))
	}
}

// TestApprovalsThatEndWithTheHost: if runs outlive the host and approvals do not, the host
// says so.
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
