package main

import (
	"strings"
	"testing"

	"github.com/quoinhq/quoin/examples/plugins/fictions/desk"
	"github.com/quoinhq/quoin/examples/plugins/internal/plugintest"
	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

func TestPlugin(t *testing.T) {
	h := sdktest.Start(t, newPlugin(), &sdktest.Options{
		Config: map[string]string{"desk": "Night desk", "today": "2026-03-02"}, Run: &sdk.RunContext{AgentID: "ada"},
	})
	plugintest.Check(t, h, "plugin.json")
	if audit := plugintest.Verb[desk.Audit](t, h, "fictions", "riskAudit"); len(audit.Risks) != 4 || audit.Risks[0].ID != "F-101" {
		t.Errorf("audit %+v", audit)
	}
	if got := plugintest.Verb[desk.Promotion](t, h, "fictions", "promoteIfReady", "F-105", "edit"); !got.Promoted {
		t.Errorf("promotion %+v", got)
	}
	if got := plugintest.Verb[desk.Unpaid](t, h, "fictions", "unpaidOver", 1500); len(got.Invoices) != 2 || got.Total != 3520 {
		t.Errorf("unpaid %+v", got)
	}
	if e := plugintest.Refused(t, h, "fictions", "promoteIfReady", "F-1", "edit"); e.Code != desk.CodeNotFound || !strings.Contains(e.Message, "F-101") {
		t.Errorf("refusal %+v", e)
	}
}

func TestScopeHoldsData(t *testing.T) {
	h := sdktest.Start(t, newPlugin(), &sdktest.Options{Config: map[string]string{"desk": "Night desk"}})
	for _, agent := range []string{"ada", "bob"} {
		h.Run(sdk.RunContext{AgentID: agent})
		scope, err := h.Scope("fictions")
		if err != nil {
			t.Fatal(err)
		}
		guest := string(scope.Guest())
		for _, want := range []string{`"Night desk"`, `"` + agent + `"`, `"pitch"`, `"published"`} {
			if !strings.Contains(guest, want) {
				t.Errorf("the scope of %s lacks %s: %s", agent, want, guest)
			}
		}
	}
	if err := sdktest.StartError(t, newPlugin(), &sdktest.Options{Config: map[string]string{"today": "Monday"}}); err == nil {
		t.Error("a bad date in the configuration was accepted")
	}
}
