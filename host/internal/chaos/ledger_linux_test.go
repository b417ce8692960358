package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/internal/history"
	"github.com/quoinhq/quoin/sdk"
)

// ledgerName is the id of the plugin, and the name under which this binary is it.
const ledgerName = "ledger"

// entry is what a program wants to be written down. The pauses are in milliseconds.
type entry struct {
	Before int `json:"before,omitempty" jsonschema:"pause before it takes effect"`
	After  int `json:"after,omitempty" jsonschema:"pause after that"`
}

// ledgerConfig is the plugin's section of the configuration.
type ledgerConfig struct {
	Socket string `json:"socket"`
	Host   string `json:"host"`
}

// ledgerPlugin tells the test what it does, over the socket that its configuration
// names. Its answers are the idempotency keys of calls, so that a program can say what it
// was told.
func ledgerPlugin() *sdk.Plugin {
	var c ledgerConfig
	p := sdk.New(sdk.Info{ID: ledgerName, Version: "1.0.0", Description: "Writes down what it is told."}, nil)
	p.OnConfigure(func(_ context.Context, given sdk.Config) error { return given.Decode(&c) })
	write := func(idempotent bool) func(context.Context, *sdk.Call, entry) (string, error) {
		return func(_ context.Context, call *sdk.Call, in entry) (string, error) {
			time.Sleep(time.Duration(in.Before) * time.Millisecond)
			err := tell(c.Socket, history.Event{
				Kind: history.Effected, Run: call.Run.RunID, Host: c.Host, Epoch: call.Epoch, Key: call.IdempotencyKey, Idempotent: idempotent,
			})
			time.Sleep(time.Duration(in.After) * time.Millisecond)
			return call.IdempotencyKey, err
		}
	}
	add := sdk.AddTool(p, sdk.Tool{Name: "ledger_add", Description: "Adds an entry."}, write(false))
	put := sdk.AddTool(p, sdk.Tool{Name: "ledger_put", Description: "Puts an entry.", Idempotent: true}, write(true))
	p.AddNamespace(sdk.Namespace{
		ID: ledgerName, Global: "Ledger", Description: "Writes down what it is told.",
		Scope: sdk.Scope{
			"add": sdk.Verb(add).Positional("before", "after"),
			"put": sdk.Verb(put).Positional("before", "after"),
		},
	})
	return p
}

// tell sends an event and returns once it is written down.
func tell(socket string, e history.Event) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(e); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	if string(answer) != accepted {
		return sdk.Errorf("stale_epoch", "another host goes on with the run")
	}
	return nil
}

const accepted = "ok"

// ledger is the other end of that socket: the one place where effects take place. It
// compares epochs, as a service does that knows fencing tokens.
type ledger struct {
	rec     *history.Recorder
	mu      sync.Mutex
	highest map[string]uint64 // by run
}

// serve answers until the test ends.
func (l *ledger) serve(t *testing.T, socket string) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var busy sync.WaitGroup
	busy.Go(func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			busy.Go(func() { l.write(conn) })
		}
	})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		busy.Wait()
	})
}

// write takes one event. A plugin that was killed while it sent one has done nothing.
func (l *ledger) write(conn net.Conn) {
	defer conn.Close()
	var e history.Event
	if err := json.NewDecoder(conn).Decode(&e); err != nil {
		return
	}
	l.mu.Lock()
	answer := accepted
	if e.Epoch != 0 && e.Epoch < l.highest[e.Run] {
		e.Kind, answer = history.Refused, "stale"
	}
	l.highest[e.Run] = max(l.highest[e.Run], e.Epoch)
	l.rec.Record(e)
	l.mu.Unlock()
	_, _ = io.WriteString(conn, answer) // the plugin may be gone by now
}
