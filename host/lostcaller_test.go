package host_test

import (
	"context"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

// prints emits something between two calls, in the middle of a wait.
const prints = `await tools.first(); text("between"); return await tools.second()`

// printer is a host whose callers of prints get lost, and what it tells.
type printer struct {
	*host.Host
	first, second *gate
	told          overheard
}

func (p *printer) config(store runstore.Store) host.Config {
	second := p.second.tool("second")
	second.Idempotent = true
	return host.Config{Store: store, Tools: []catalog.Tool{p.first.tool("first"), second}, Trajectory: host.TrajectoryConfig{Sink: p.told}}
}

func newPrinter() *printer {
	return &printer{first: newGate(), second: newGate(), told: newOverheard()}
}

// suspended starts prints, which is suspended.
func (p *printer) suspended(t *testing.T) (id string) {
	t.Helper()
	id = execBriefly(t, p.Host, host.ReasonPendingTools, prints)
	p.told.until(t, id, trajectory.RunSuspended)
	return id
}

// TestALostCallerLosesNoOutput: what a program has put out while a caller waited who has left
// is in the next result, at the same host and at the next one.
func TestALostCallerLosesNoOutput(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*testing.T, *printer, string) *host.Host{
		"the same host": func(_ *testing.T, p *printer, _ string) *host.Host { return p.Host },
		"the next host": func(t *testing.T, p *printer, dir string) *host.Host {
			t.Helper()
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			return start(t, p.config(openDir(t, dir)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir := newPrinter(), mkdir(t)
			p.Host = start(t, p.config(openDir(t, dir)))
			id := p.suspended(t)
			ctx, leave := context.WithCancel(t.Context())
			lost := make(chan *host.Delivery)
			go func() { lost <- p.Deliver(ctx, me, id, 0) }()
			close(p.first.open)
			<-p.second.entered
			leave()
			d := <-lost
			wantWaiting(t, d.Result, host.ReasonPendingTools)
			wantTexts(t, d.Result)
			h := next(t, p, dir)
			close(p.second.open)
			r := h.Wait(t.Context(), me, id)
			wantValue(t, r, `"through"`)
			wantTexts(t, r, "between")
		})
	}
}

// TestARefusedWaitLeavesTheOutput: the store has it still, so the wait that is refused does
// not give it, or the next host would give it again.
func TestARefusedWaitLeavesTheOutput(t *testing.T) {
	t.Parallel()
	p, dir := newPrinter(), mkdir(t)
	p.Host = start(t, p.config(openDir(t, dir)))
	id := p.suspended(t)
	ctx, leave := context.WithCancel(t.Context())
	lost := make(chan *host.Delivery)
	go func() { lost <- p.Deliver(ctx, me, id, 0) }()
	close(p.first.open)
	<-p.second.entered
	leave()
	<-lost
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	close(p.second.open)
	cfg := p.config(openDir(t, dir))
	cfg.Quotas = host.Quotas{CPUSecondsPerHour: 2, SessionPercent: 10}
	poor := start(t, cfg)
	for r := exec(poor, spend); r.Status == host.StatusWaiting; {
		r = poor.Wait(t.Context(), me, r.RunID)
	}
	refused := poor.Wait(t.Context(), me, id)
	wantFailure(t, refused, host.CodeUnavailable, host.ReasonQuota, host.PhaseHost)
	wantTexts(t, refused)
	if err := poor.Close(); err != nil {
		t.Fatal(err)
	}
	r := start(t, p.config(openDir(t, dir))).Wait(t.Context(), me, id)
	wantValue(t, r, `"through"`)
	wantTexts(t, r, "between")
}

// TestACallerWhoseTimeIsOverHasItsOutput: its context ends with a deadline, and it takes the
// result.
func TestACallerWhoseTimeIsOverHasItsOutput(t *testing.T) {
	t.Parallel()
	p := newPrinter()
	p.Host = start(t, p.config(&runstore.Memory{}))
	id := p.suspended(t)
	ctx, end := context.WithCancelCause(t.Context())
	results := make(chan *host.Delivery)
	go func() { results <- p.Deliver(ctx, me, id, 0) }()
	close(p.first.open)
	<-p.second.entered
	end(context.DeadlineExceeded)
	d := <-results
	wantTexts(t, d.Result, "between")
	close(p.second.open)
	r := p.Wait(t.Context(), me, id)
	wantValue(t, r, `"through"`)
	wantTexts(t, r)
}

// TestABrokenLinkLosesNoOutput: the connection breaks by which another host has asked for a
// run. Its caller gets what was put out meanwhile once the hosts have found each other again.
func TestABrokenLinkLosesNoOutput(t *testing.T) {
	t.Parallel()
	p, shared := newPrinter(), newSharedRuns()
	peer := func(name string) *host.Host {
		cfg := p.config(shared.of(name))
		cfg.Cluster = host.ClusterConfig{Listen: "127.0.0.1:0", Secret: clusterSecret}
		return start(t, cfg)
	}
	p.Host = peer("holder")
	other, address := peer("other"), shared.addressOf("holder")
	link := startRelay(t, address)
	shared.advertise("holder", link.Addr().String())
	id := p.suspended(t)
	results := make(chan *host.Result)
	go func() { results <- other.Wait(t.Context(), me, id) }()
	p.told.until(t, id, trajectory.RunResumed)
	close(p.first.open)
	<-p.second.entered
	if err := link.Close(); err != nil {
		t.Fatal(err)
	}
	link.cut()
	p.told.until(t, id, trajectory.RunSuspended)
	shared.advertise("holder", address)
	close(p.second.open)
	r := <-results
	wantValue(t, r, `"through"`)
	wantTexts(t, r, "between")
}
