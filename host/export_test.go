package host

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Replace gives the host other tools, as a change of plugins would.
func (h *Host) Replace(tools ...catalog.Tool) error {
	h.viewMu.Lock()
	defer h.viewMu.Unlock()
	h.cfg.Tools = tools
	return h.refresh()
}

// Files returns what a session's programs read with API, by path, and the index.
func (h *Host) Files(s Session) (files map[string]string, index string) {
	d := h.sessionView(s).Declarations
	files = make(map[string]string)
	for path := range d.Files() {
		data, _, _ := d.File(view.PrefixAPI + path)
		files[path] = string(data)
	}
	return files, string(d.Index())
}

// Seen returns the names of the tools and the descriptions of the namespaces that a program
// of the session would find.
func (h *Host) Seen(s Session) (tools, spaces []string) {
	v := h.sessionView(s)
	for _, e := range v.Catalog.Entries() {
		tools = append(tools, e.Name)
	}
	for _, n := range v.Namespaces {
		spaces = append(spaces, n.Description)
	}
	return tools, spaces
}

// SameView reports whether two sessions have one view between them, which is
// then also that of the whole host if base says so.
func (h *Host) SameView(a, b Session, base bool) bool {
	v := h.sessionView(a)
	return v == h.sessionView(b) && (!base || v == h.view.Load())
}

// Expire ends a suspended run as if its time were over, and returns once it has.
func (h *Host) Expire(id string) {
	r := h.engine.runByID(id)
	if r != nil {
		r.expire()
	}
}

// Aborted returns once a run of this process is being ended.
func (h *Host) Aborted(id string) {
	r := h.engine.runByID(id)
	if r != nil {
		<-r.ctx.Done()
	}
}

// Quiet returns once no tool call of the host is in flight, or ctx ends, and reports
// how many are left.
func (h *Host) Quiet(ctx context.Context) int { return h.engine.performing.wait(ctx) }

// CompactAfter makes the journals of resumed runs shorter than a real host's. Call it
// before the first run.
func (h *Host) CompactAfter(bytes int) { h.engine.maxDelivered = bytes }

// QueryFor makes what the catalog may take for one turn shorter than a real host's. Call
// it before the first run.
func (h *Host) QueryFor(d time.Duration) { h.engine.maxQueryTime = d }

// LeftToRun is what is left of a run's processor time, and what of it went to the
// catalog.
func (h *Host) LeftToRun(id string) (left, queries time.Duration) {
	r := h.engine.runByID(id)
	r.calls.locked(func() {
		left, queries = r.driver.cpuLeft(), time.Duration(r.calls.counters.QueryMicros)*time.Microsecond
	})
	return left, queries
}

// Settled counts the calls of a run that have settled and were not delivered.
func (h *Host) Settled(id string) (n int) {
	r := h.engine.runByID(id)
	for _, c := range r.calls.list() {
		if c.State == runstore.CallSettled {
			n++
		}
	}
	return n
}

// EndOrphans is what a host does now and then.
func (h *Host) EndOrphans(ctx context.Context) error { return h.engine.endOrphans(ctx) }

// Taken is what is left of each quota that someone has, by its name.
func (h *Host) Taken() map[string]int64 {
	out := map[string]int64{}
	m := h.engine.meters
	for name, meter := range map[string]*quota.Meter{"bytes": m.held, "workers": m.workers, "suspended": m.suspended, "approvals": m.approvals} {
		if n := meter.Used(); n != 0 {
			out[name] = n
		}
	}
	return out
}

// TakeReport handles a report as if a worker had sent it for a new run of the session,
// and ends the run. A panic is not contained.
func TakeReport(h *Host, s Session, rep *wire.Report) Telemetry {
	to, f := h.accessFor(s, ExecInput{})
	if f != nil {
		panic(f)
	}
	r, err := h.engine.newRun(s, codemode.LanguageJavaScript, to)
	if err != nil {
		panic(err)
	}
	if f := h.engine.add(r); f != nil {
		panic(f)
	}
	r.begin(time.Now())
	r.driver.limit(r.ctx, time.Now().Add(time.Minute))
	res := r.driver.handleReport(rep)
	if res == nil {
		res = r.driver.failed(failf(CodeAborted, "", PhaseHost, "the test is over"))
	}
	return res.Telemetry
}

// LocksTaken counts how often the locks of a run were taken.
func (h *Host) LocksTaken(id string) (n uint64) {
	r := h.engine.runByID(id)
	for _, m := range []*countedMutex{&r.mu, &r.calls.mu, &r.record.mu, &r.record.claimMu, &r.scopes.mu, &r.used.mu} {
		m.Mutex.Lock()
		n += m.taken
		m.Mutex.Unlock()
	}
	return n
}

// Stages are the names of the stages of a call, in order.
func Stages() (names []string) {
	for _, s := range callStages {
		names = append(names, s.name)
	}
	return names
}
