package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// callsPerCell is how many calls one cell makes, so that the cell itself does not count.
const callsPerCell = 50

// Names of rows that others are compared to.
const (
	socketFloor = "floor: two processes, one message each way over a Unix socket"
	rpcFloor    = "floor: an echo over gRPC, Unix socket, no TLS"
)

// BenchmarkCallPath measures one call of a tool next to the floor below it: what two
// processes need to wake each other over a Unix socket, and what gRPC needs for an echo.
// The cases take turns, so that they meet the same machine, and each figure is the mean
// of one cell's calls. On a busy machine compare processor time: a floor, which computes
// next to nothing, is hardly ever preempted there.
func BenchmarkCallPath(b *testing.B) {
	h := newHost(b, host.Config{
		Plugins: host.PluginConfig{Dir: pluginDir(b)},
		Tools: []catalog.Tool{{
			Name: "nothing", Description: "Returns its input.",
			Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) { return c.Input, nil },
		}},
	})
	cell := func(code string) func() error {
		return func() error {
			if r := h.Exec(context.Background(), session, host.ExecInput{Code: code}); r.Status != host.StatusCompleted {
				return fmt.Errorf("got %s %s", r.Status, r.Error)
			}
			return nil
		}
	}
	sequential := func(call string) func() error {
		return cell(fmt.Sprintf(`let s = 0; for (let i = 0; i < %d; i++) s += (await %s).n; return s`, callsPerCell, call))
	}
	parallel := func(call string) func() error {
		return cell(fmt.Sprintf(`for (let r = 0; r < %d; r++) await Promise.all(Array.from({length: 16}, (_, i) => %s))`, callsPerCell/10, call))
	}
	cases := []*struct {
		row
		times int // how often what is measured happens in one op
		op    func() error
		d     []time.Duration
		cpu   time.Duration
	}{
		{row: row{name: socketFloor, goal: "none"}, times: callsPerCell, op: repeat(startSocketPeer(b))},
		{row: row{name: rpcFloor, goal: "none"}, times: callsPerCell, op: repeat(startRPCPeer(b))},
		{row: row{name: "a call of a tool in the host", goal: "p50 <= 0.1 ms, <= 2x the socket", than: socketFloor}, times: callsPerCell, op: sequential(`tools.nothing({n: i})`)},
		{row: row{name: "a call of a plugin's tool", goal: "<= 1.5x the echo", than: rpcFloor}, times: callsPerCell, op: sequential(`Echo.call(i)`)},
		{row: row{name: "16 calls at once, tools in the host", goal: "none", than: socketFloor}, times: callsPerCell / 10, op: parallel(`tools.nothing({n: i})`)},
		{row: row{name: "16 calls at once, a plugin's tool", goal: "none", than: rpcFloor}, times: callsPerCell / 10, op: parallel(`Echo.call(i)`)},
	}
	round := func() {
		for _, c := range cases {
			used, start := processorTime(b), time.Now()
			if err := c.op(); err != nil {
				b.Fatal(err)
			}
			c.d = append(c.d, time.Since(start)/time.Duration(c.times))
			c.cpu += processorTime(b) - used
		}
	}
	for range warmUp / 10 {
		round()
	}
	for _, c := range cases {
		c.d, c.cpu = nil, 0
	}
	for b.Loop() {
		round()
	}
	for _, c := range cases {
		slices.Sort(c.d)
		c.processor = c.cpu / time.Duration(len(c.d)*c.times)
		c.n, c.p50, c.p99 = len(c.d), c.d[len(c.d)/2], c.d[len(c.d)*99/100]
		table.add(&c.row)
	}
}

// repeat is the operation of exchanging as many messages as a cell makes calls.
func repeat(exchange func() error) func() error {
	return func() error {
		for range callsPerCell {
			if err := exchange(); err != nil {
				return err
			}
		}
		return nil
	}
}
