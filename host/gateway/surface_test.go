package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/modeltools"
)

// TestSurface: a caller over HTTP gets what a model is to be shown, in the shape of
// its provider, as an embedder does.
func TestSurface(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{
		Tools: []catalog.Tool{newGate().tool("weather_today")},
		Settings: host.Settings{Models: map[string]codemode.Activation{
			"tiny": codemode.ActivationOff, "middle": codemode.ActivationAuto,
		}},
		Agents: map[string]host.Settings{"off": {Disabled: true}},
	})
	c := serve(t, h, gateway.Options{}, nil)
	exec, wait := h.Catalog(me).Definitions()
	for _, p := range modeltools.Providers() {
		want, err := modeltools.Render(p, []catalog.Tool{exec, wait})
		if err != nil {
			t.Fatal(err)
		}
		c.get("/v1/surface?model=large&provider="+string(p)).wants(200, "active", "true", "tools", string(want))
	}
	for _, off := range []*answer{c.get("/v1/surface?model=tiny"), c.get("/v1/surface?model=middle"), c.as(host.Session{AgentID: "off"}).get("/v1/surface")} {
		off.wants(200, "active", "false", "tools", "[]")
	}
	c.get("/v1/surface?provider=cohere").problem(400, gateway.ProblemInvalidRequest)
	c.get("/v1/surface?model="+strings.Repeat("m", 257)).problem(400, gateway.ProblemInvalidRequest)
	c.get("/v1/surface?models=x").problem(400, gateway.ProblemInvalidRequest)

	cl, err := client.New(c.base, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	found, err := cl.ModelTools(context.Background(), me, "", "")
	if err != nil || !found.Active {
		t.Fatalf("%+v, %v", found, err)
	}
	var tools []gateway.Definition
	if err := json.Unmarshal(found.Tools, &tools); err != nil {
		t.Fatal(err)
	}
	if len(tools) != 2 || tools[0].Name != "exec" || !strings.Contains(tools[0].Description, "weather_today") || tools[1].Name != "wait" {
		t.Errorf("%+v", tools)
	}
}

// TestSurfaceWithoutTools: a caller's own tools come with exec, so exec is offered.
func TestSurfaceWithoutTools(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	c.get("/v1/surface").wants(200, "active", "true")
}
