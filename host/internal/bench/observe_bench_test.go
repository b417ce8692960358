package bench_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/trajectory"
)

// BenchmarkExecObserved runs a cell with five calls of a tool in this process while
// no observer is set, and while its events are subscribed to or recorded.
func BenchmarkExecObserved(b *testing.B) {
	tool := catalog.Tool{
		Name: "echo", Description: "Returns its input.", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
		Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) { return c.Input, nil },
	}
	const code = `let s = 0; for (let i = 0; i < 5; i++) s += (await tools.echo({n: i})).n; return s`
	const nobody = "5 calls, no observer is set"
	for _, c := range []struct {
		name      string
		subscribe bool
		cfg       func(b *testing.B) host.Config
	}{
		{nobody, false, func(*testing.B) host.Config { return host.Config{} }},
		{"same, a subscriber", true, func(*testing.B) host.Config { return host.Config{} }},
		{"same, recorded", false, func(b *testing.B) host.Config {
			return host.Config{Trajectory: host.TrajectoryConfig{Sink: records(b)}}
		}},
		{"same, recorded with bodies", false, func(b *testing.B) host.Config {
			return host.Config{Trajectory: host.TrajectoryConfig{Sink: records(b), Bodies: &redact.Redactor{}}}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			cfg := c.cfg(b)
			cfg.Tools = []catalog.Tool{tool}
			h := newHost(b, cfg)
			if c.subscribe {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				feed := h.Follow(ctx, host.EventFilter{All: true, OwnHost: true})
				go func() {
					for range feed {
					}
				}()
			}
			r := row{name: c.name, goal: "none"}
			if c.name != nobody {
				r.than = nobody
			}
			measure(b, r, execOf(h, code), host.StatusCompleted)
		})
	}
}

func records(b *testing.B) *trajectory.Dir {
	d, err := trajectory.OpenDir(b.TempDir(), trajectory.DirOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	})
	return d
}
