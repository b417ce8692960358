package guestserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// fakeEngine understands cells with one of a few words in their source, so that
// the server's own behaviour can be tested without a guest.
type fakeEngine struct {
	live    int // VMs not discarded
	options engine.Options
}

func (e *fakeEngine) ID() string { return "fake" }

func (e *fakeEngine) New(o engine.Options) (engine.VM, error) {
	if e.live > 0 {
		return nil, engine.ErrBusy
	}
	e.live++
	e.options = o
	return &fakeVM{engine: e}, nil
}

func (e *fakeEngine) Restore(image []byte, o engine.Options) (engine.VM, error) {
	if string(image) != "fake image" {
		return nil, engine.ErrCorrupt
	}
	return e.New(o)
}

type fakeVM struct{ engine *fakeEngine }

func (v *fakeVM) Load(c engine.Cell, _ time.Time) (wire.Report, error) {
	r := wire.Report{TimerMillis: -1}
	switch source := string(c.Source); {
	case strings.Contains(source, "VALUE"):
		r.Status, r.Value = wire.StatusDone, []byte("42")
	case strings.Contains(source, "FILE"):
		data, found := v.engine.options.Files("a/b.json")
		value, err := json.Marshal(map[string]any{"data": string(data), "found": found})
		if err != nil {
			return r, err
		}
		r.Status, r.Value = wire.StatusDone, value
	case strings.Contains(source, "OOM"):
		return r, fmt.Errorf("load: %w", engine.ErrMemory)
	case strings.Contains(source, "DEAD"):
		return r, errors.New("heap is gone")
	case strings.Contains(source, "FLOOD"):
		item := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
		for range 80 {
			r.Output = append(r.Output, wire.Output{Kind: wire.OutputText, JSON: item})
		}
		r.Requests = []wire.Request{{ID: 1, Method: wire.MethodCall, Target: "t"}}
	case strings.Contains(source, "PANIC"):
		panic("bug")
	default:
		r.Requests = []wire.Request{{ID: 1, Method: wire.MethodYield}}
		r.Pending = 1
	}
	return r, nil
}

func (v *fakeVM) Turn(in []wire.Settlement, _ time.Time) (wire.Report, error) {
	return wire.Report{Status: wire.StatusDone, Value: in[0].JSON, TimerMillis: -1}, nil
}

func (v *fakeVM) Replay([]byte) error { return nil }

func (v *fakeVM) Snapshot(most int) ([]byte, error) {
	const image = "fake image"
	if len(image) > most {
		return nil, &engine.TooLargeError{Bytes: len(image)}
	}
	return []byte(image), nil
}

func (v *fakeVM) Discard() error {
	v.engine.live--
	return nil
}
