package host

import (
	"cmp"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/internal/runs"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/wire"
)

// Times are what a host waits for.
type Times = times

// DefaultTimes are the times of a host outside tests.
var DefaultTimes = defaultTimes

// ShortTimes are a tenth of what something waits for. What merely bounds the work of others,
// and is not waited for where all is well, stays as it is: a busy machine needs it.
func ShortTimes() Times {
	t := Times{hosttest.Tenth(timing.Defaults), hosttest.Tenth(defaultTimes.Own)}
	r, d := &t.Runs, &defaultTimes.Runs
	r.QuestionGrace, r.ClientGrace, r.SweepEvery = d.QuestionGrace, d.ClientGrace, d.SweepEvery
	r.AnswerMargin, r.QuestionSpan, r.EvictAfter = d.AnswerMargin, d.QuestionSpan, d.EvictAfter
	r.CPUGrace, r.ServiceGrace, r.QueryTime = d.CPUGrace, d.ServiceGrace, d.QueryTime
	r.WakeTimeout, r.ClaimPatience, r.HolderPatience = d.WakeTimeout, d.ClaimPatience, d.HolderPatience
	r.DriverGrace, r.LastWakesTimeout = d.DriverGrace, d.LastWakesTimeout
	o, own := &t.Own, &defaultTimes.Own
	o.DrainTimeout, o.MCPWait, o.PluginDrain = own.DrainTimeout, own.MCPWait, own.PluginDrain
	o.ClusterGrace, o.FollowWait = own.ClusterGrace, own.FollowWait
	return t
}

// WithTimes returns the configuration with times that differ from its own, or from ShortTimes.
func (c Config) WithTimes(change func(*Times)) Config {
	c.times = cmp.Or(c.times, ShortTimes())
	change(&c.times)
	if c.Cluster.times == (cluster.Times{}) {
		c.Cluster.times = cluster.DefaultTimes
		c.Cluster.times.CheckEvery /= 10
		c.Cluster.times.SuspectEvery /= 10
	}
	return c
}

// Replace gives the host other tools, as a change of plugins would.
func (h *Host) Replace(tools ...catalog.Tool) error {
	h.views.mu.Lock()
	defer h.views.mu.Unlock()
	h.cfg.Tools = tools
	return h.views.refresh()
}

// Files returns what a session's programs read with API, by path, and the index.
func (h *Host) Files(s Session) (files map[string]string, index string) {
	d := h.views.SessionView(s).Declarations
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
	v := h.views.SessionView(s)
	for _, e := range v.Catalog.Entries() {
		tools = append(tools, e.Name)
	}
	for _, n := range v.Namespaces {
		spaces = append(spaces, n.Description)
	}
	return tools, spaces
}

// SameView reports whether two sessions share one view. With base, that view must also be the
// view of the whole host.
func (h *Host) SameView(a, b Session, base bool) bool {
	v := h.views.SessionView(a)
	return v == h.views.SessionView(b) && (!base || v == h.views.view.Load())
}

// Engine looks at what runs the host's cells.
func (h *Host) Engine() runs.Inspector { return h.engine.Inspect() }

// TakeReport handles a report as if a worker had sent it for a new run of the session.
func TakeReport(h *Host, s Session, rep *wire.Report) codemode.Telemetry {
	to, f := h.views.AccessFor(s, run.Input{})
	if f != nil {
		panic(f)
	}
	return h.engine.Inspect().TakeReport(s, to, rep)
}

// Running reports whether the host lets new programs in.
func (h *Host) Running() bool { return !h.engine.IsClosing() }
