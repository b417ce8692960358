package run

import (
	"maps"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// BaseTelemetry returns the telemetry of a run that has done nothing. Without a view there
// is no run, and it says nothing of tools.
func BaseTelemetry(v *view.View) codemode.Telemetry {
	t := codemode.NewTelemetry()
	if v != nil {
		t.CatalogSize, t.Sources = v.Catalog.Len(), maps.Clone(v.Sources)
	}
	return t
}

// IsolationOf reports the layers of the worker that ran the guest last.
func IsolationOf(layers []wire.Layer) codemode.Isolation {
	out := codemode.Isolation{Tier: "none", Layers: map[string]string{}}
	for _, l := range layers {
		out.Layers[l.Name] = l.State
	}
	if len(layers) > 0 {
		out.Tier = sandbox.Tier(layers)
	}
	return out
}

// EngineOf names the engine of a worker that has said that id. An empty id is of a run
// that no worker ran, or of a record of a time when there was one engine.
func EngineOf(id string) codemode.Engine {
	if id == "" {
		return codemode.NewTelemetry().Engine
	}
	return codemode.Engine{Name: string(guestrt.EngineOf(id)), ID: id}
}

// storedIsolation is what a record says of it.
func storedIsolation(states map[string]string) codemode.Isolation {
	return IsolationOf(StoredLayers(states))
}

func StoredLayers(states map[string]string) []wire.Layer {
	layers := make([]wire.Layer, 0, len(states))
	for name, state := range states {
		layers = append(layers, wire.Layer{Name: name, State: state})
	}
	return layers
}

// CountInto writes what the counters of a run say.
func CountInto(t *codemode.Telemetry, c runstore.Counters) {
	micros := func(n int64) float64 { return float64(n) / 1000 }
	t.ApprovalCount, t.ApprovalWaitMillis = c.Approvals, micros(c.ApprovalMicros)
	t.SearchCount, t.DescribeCount, t.CallCount, t.NamespaceCount = c.Search, c.Describe, c.Call, c.Namespace
	t.GuestCPUMillis = float64(c.CPUMicros) / 1000
	t.WallMillis = micros(c.WallMicros)
	t.PeakHeapBytes = c.PeakBytes
}

// WithRecord marks a refusal with what the record of the run says.
func WithRecord(f *codemode.Error, rec *runstore.Record) *codemode.Error {
	if rec == nil {
		return f
	}
	f.Dispatched = rec.Dispatched
	for _, c := range rec.Calls {
		f.Dispatched = f.Dispatched || calls.WentOut(c)
	}
	t := BaseTelemetry(nil)
	CountInto(&t, rec.Counters)
	t.SnapshotBytes, t.Isolation, t.Engine = len(rec.Image), storedIsolation(rec.Layers), EngineOf(rec.GuestEngine)
	f.Telemetry = &t
	return f
}
