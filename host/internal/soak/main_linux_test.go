package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/hostile"
	"github.com/quoinhq/quoin/internal/hosttest"
)

var soakTime = flag.Duration("soaktime", defaultTime, "how long TestSoak goes on")

// TestMain makes the test binary the host of the test that kills its host.
func TestMain(m *testing.M) {
	if dir := os.Getenv(hostVariable); dir != "" {
		beHost(dir)
	}
	hosttest.Main(m)
}

// The limits of the soak's host: how many runs may be suspended at a time, and the
// heap of a guest, which is what most hostile programs expect.
const (
	maxSuspended = 64
	memoryLimit  = hostile.DefaultMemory
)

// config is the host that is attacked. Its plugins and its store are in dir.
func config(dir, guest string, tools ...catalog.Tool) (host.Config, error) {
	store, err := runstore.OpenDir(filepath.Join(dir, "runs"))
	return host.Config{
		Guests:       host.GuestConfig{Path: guest},
		Settings:     host.Settings{MemoryLimit: memoryLimit, MaxSuspended: maxSuspended},
		Plugins:      host.PluginConfig{Dir: filepath.Join(dir, "plugins"), DataDir: filepath.Join(dir, "data")},
		Tools:        append(tools, echo, nap, fail, big),
		Store:        store,
		DrainTimeout: time.Second,
		Logger:       slog.New(slog.DiscardHandler),
	}, err
}

// install puts the plugins into dir, which is short enough for their sockets.
func install(t testing.TB, plugins ...string) (dir, guest string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "q")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, sub := range []string{"plugins", "data"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	for _, name := range plugins {
		err = errors.Join(err, hosttest.Install(filepath.Join(dir, "plugins"), name))
	}
	guest, gerr := hosttest.Guest()
	if err := errors.Join(err, gerr); err != nil {
		t.Fatal(err)
	}
	return dir, guest
}

func start(t testing.TB, dir, guest string) *host.Host {
	t.Helper()
	cfg, err := config(dir, guest)
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

var (
	echo = catalog.Tool{
		Name: "echo", Description: "Returns its input.", ReadOnly: true, Idempotent: true,
		Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) { return c.Input, nil },
	}
	fail = catalog.Tool{
		Name: "fail", Description: "Fails.",
		Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			return nil, errors.New("it failed")
		},
	}
	big = catalog.Tool{
		Name: "big", Description: "Returns a megabyte.",
		Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) { return megabyte, nil },
	}
	// nap answers after a while, which a cell that calls it cannot outlive.
	nap = catalog.Tool{
		Name: "nap", Description: "Answers after some milliseconds.", ReadOnly: true, Idempotent: true,
		Parameters: json.RawMessage(`{"type":"object","properties":{"ms":{"type":"integer"}}}`),
		Invoke: func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
			var in struct{ MS int }
			if err := json.Unmarshal(c.Input, &in); err != nil {
				return nil, err
			}
			rested := time.NewTimer(time.Duration(in.MS) * time.Millisecond)
			defer rested.Stop()
			select {
			case <-rested.C:
				return json.RawMessage(fmt.Sprintf(`"rested %d"`, in.MS)), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
)

var megabyte = func() json.RawMessage {
	b := make([]byte, 1<<20)
	for i := range b {
		b[i] = 'm'
	}
	b[0], b[len(b)-1] = '"', '"'
	return b
}()

func show(r *host.Result) string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	if len(b) > 700 {
		b = append(b[:700], "..."...)
	}
	return string(b)
}
