// Command ledger is a plugin that writes down in a file what it is told, with the
// idempotency key of each call.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/sdk"
)

type entry struct {
	Name string `json:"name"`
}

func main() {
	var c struct {
		Dir string `json:"dir"`
	}
	p := sdk.New(sdk.Info{ID: "ledger", Version: "1.0.0", Description: "Writes down what it is told."}, nil)
	p.OnConfigure(func(_ context.Context, given sdk.Config) error { return given.Decode(&c) })
	add := func(_ context.Context, call *sdk.Call, in entry) (string, error) {
		f, err := os.OpenFile(filepath.Join(c.Dir, "entries"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = fmt.Fprintf(f, "%s %s\n", call.IdempotencyKey, in.Name)
		return in.Name, err
	}
	sdk.AddTool(p, sdk.Tool{Name: "ledger_add", Description: "Adds an entry."}, add)
	sdk.AddTool(p, sdk.Tool{Name: "ledger_asked", Description: "Adds an entry, which a person allows."}, add)
	sdk.AddTool(p, sdk.Tool{Name: "ledger_hold", Description: "Adds an entry, and answers once there is a file.", Idempotent: true},
		func(ctx context.Context, call *sdk.Call, in entry) (string, error) {
			name, err := add(ctx, call, in)
			if err == nil {
				err = hosttest.AwaitFile(ctx, filepath.Join(c.Dir, "open"), "")
			}
			return name, err
		})
	sdk.Serve(p)
}
