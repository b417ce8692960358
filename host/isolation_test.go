package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/sandbox"
)

// TestEveryResultStatesItsIsolation checks the telemetry of a host of each policy.
func TestEveryResultStatesItsIsolation(t *testing.T) {
	t.Parallel()
	for _, policy := range []codemode.IsolationPolicy{"", host.IsolationRequired, host.IsolationBestEffort} {
		h := start(t, host.Config{Settings: host.Settings{Isolation: policy}})
		got := exec(h, "return 1").Telemetry.Isolation
		if got.Tier == "" || !strings.Contains("ABCD", got.Tier) || got.Layers[sandbox.LayerSeccomp] == "" || got.Layers[sandbox.LayerCgroup] == "" {
			t.Errorf("%q: %+v", policy, got)
		}
	}
}

func TestAnUnknownIsolationPolicyStartsNothing(t *testing.T) {
	t.Parallel()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(context.Background(), host.Config{Guests: host.GuestConfig{Path: guest}, Settings: host.Settings{Isolation: "none"}})
	if err == nil {
		t.Fatal(h.Close())
	}
	if !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("%v", err)
	}
}
