package plugincmd

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// TestEveryHalfMinute: who waits for a compiler is told how long it has been built.
func TestEveryHalfMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		var told []time.Duration
		every(ctx, 30*time.Second, func(d time.Duration) { told = append(told, d) })
		if want := []time.Duration{30 * time.Second, time.Minute, 90 * time.Second}; !slices.Equal(told, want) {
			t.Errorf("told at %v", told)
		}
	})
}

// TestDevelopmentKeepsOtherConfigurations: what dev.json5 says of one plugin takes
// nothing from those that stand next to it, nor from what --config says of it.
func TestDevelopmentKeepsOtherConfigurations(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "quoin.json5")
	if err := os.WriteFile(name, []byte(`{plugins: {config: {issues: {a: 1}, given: {a: 2}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := app.Flags{Config: name}
	f, err := o.Load()
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]map[string]string{
		"weather": {"issues": `{"a":1}`, "given": `{"a":2}`, "weather": `{"b":3}`},
		"given":   {"issues": `{"a":1}`, "given": `{"a":2}`},
	} {
		folder := &pluginbuild.Folder{Manifest: manifest.Manifest{ID: id}, Config: json.RawMessage(`{"b":3}`)}
		got := map[string]string{}
		for id, config := range hostOf(&o, f, folder, t.TempDir(), io.Discard).Plugins.Config {
			got[id] = string(config)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", id, got, want)
		}
	}
}
