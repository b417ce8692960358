package host_test

import (
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

// prints emits something between two calls, in the middle of a wait.
const prints = `await tools.first(); text("between"); return await tools.second()`

// printer is a host that loses its callers of prints, and the events it reports.
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
	id = execBriefly(t, p.Host, codemode.ReasonPendingTools, prints)
	p.told.until(t, id, trajectory.RunSuspended)
	return id
}

// TestABrokenLinkLosesNoOutput: another host has asked for a run, and the connection between
// the hosts breaks. Once the hosts have found each other again, the caller gets the output
// made in the meantime.
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
