package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/sdk"
)

// pluginName is the name under which this binary serves as a plugin.
const pluginName = "echo"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == pluginName {
		sdk.Serve(echoPlugin())
		return
	}
	// As quoin serve does, and as embedders are told to.
	if err := host.RelaxTimerSlack(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	code := m.Run()
	table.print()
	os.Exit(code)
}

type echoInput struct {
	N int `json:"n" jsonschema:"number to return"`
}

// echoPlugin does nothing but answer, so that what is measured is the way there
// and back.
func echoPlugin() *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: pluginName, Version: "1.0.0", Description: "Returns its input."}, nil)
	echo := sdk.AddTool(p, sdk.Tool{Name: "echo", Description: "Returns its input.", ReadOnly: true},
		func(_ context.Context, _ *sdk.Call, in echoInput) (echoInput, error) { return in, nil })
	sdk.AddTool(p, sdk.Tool{Name: "pid", Description: "Tells one process of the plugin from another.", ReadOnly: true},
		func(context.Context, *sdk.Call, struct{}) (int, error) { return os.Getpid(), nil })
	p.AddNamespace(sdk.Namespace{
		ID: pluginName, Global: "Echo", Description: "Returns its input.",
		Scope: sdk.Scope{"call": sdk.Verb(echo).Positional("n")},
	})
	return p
}

// pluginDir makes a plugin directory in which this binary is the plugin.
func pluginDir(b *testing.B) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "plugins")
	own := filepath.Join(dir, pluginName)
	if err := os.MkdirAll(own, 0o755); err != nil {
		b.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	src, err := os.Open(exe)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(filepath.Join(own, pluginName), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(dst, src); err != nil {
		b.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		b.Fatal(err)
	}
	manifest := `{"id": "echo", "version": "1.0.0", "protocol": 2, "command": "./echo"}`
	if err := os.WriteFile(filepath.Join(own, "plugin.json"), []byte(manifest), 0o644); err != nil {
		b.Fatal(err)
	}
	return dir
}

// newHost starts a host with the guest that make build has made.
func newHost(b *testing.B, cfg host.Config) *host.Host {
	b.Helper()
	guest, err := filepath.Abs("../../../bin/quoin-guest")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(guest); err != nil {
		b.Fatalf("%v: run make build first", err)
	}
	cfg.Guests.Path = guest
	cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	h, err := host.New(context.Background(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := h.Close(); err != nil {
			b.Error(err)
		}
	})
	return h
}

// manyTools is a catalog as large gateways have them.
func manyTools(n int) []catalog.Tool {
	tools := make([]catalog.Tool, n)
	for i := range tools {
		tools[i] = catalog.Tool{
			Name:        fmt.Sprintf("service%d_operation%d", i/100, i),
			Description: fmt.Sprintf("Operation %d of a service with a description of ordinary length, so that the catalog has an ordinary size.", i),
			Parameters:  json.RawMessage(`{"type":"object","properties":{"id":{"type":"string","description":"which one"},"limit":{"type":"integer"}},"required":["id"]}`),
			Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
				return c.Input, nil
			},
		}
	}
	return tools
}
