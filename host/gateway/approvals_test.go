package gateway_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
)

// TestApprovals has people decide about calls, over HTTP.
func TestApprovals(t *testing.T) {
	t.Parallel()
	g := newGate()
	close(g.open)
	ask := policy.Hook{Name: "careful", Tools: []string{"risky"}, Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
		return policy.Verdict{Approval: &policy.ApprovalRequest{Title: "Sure?", Description: "It is <risky>.", Severity: policy.SeverityCritical,
			Timeout: time.Hour, Allowed: []policy.Decision{policy.AllowOnce, policy.Deny}}}, nil
	}}
	h := newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{g.tool("risky")}, Hooks: []policy.Hook{ask}})
	c := serve(t, h, gateway.Options{}, nil)
	c.get("/v1/approvals").wants(200, "approvals", "[]")
	events := c.stream(t.Context(), t, "")
	other := c.as(host.Session{SessionID: "other"})
	all := c.as(host.Session{})

	// start runs a cell with a call that waits, and returns the approval.
	start := func() (policy.Approval, chan *answer) {
		t.Helper()
		res := make(chan *answer, 1)
		go func() { res <- c.exec(`return await tools.risky({a: 1})`) }()
		for {
			if e, _ := events.next(); e.Kind == trajectory.ApprovalRequested {
				break
			}
		}
		var list gateway.ApprovalList
		if err := json.Unmarshal(c.get("/v1/approvals").wants(200).body, &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Approvals) != 1 {
			t.Fatalf("%+v", list)
		}
		return *list.Approvals[0], res
	}

	// end returns the last answer of a cell. The client may have waited for long.
	end := func(res chan *answer) *answer {
		t.Helper()
		a := <-res
		for string(a.member("status")) == `"waiting"` {
			a = c.wait(a.text("runId"))
		}
		return a
	}

	a, res := start()
	if a.Title != "Sure?" || a.State != policy.StatePending || a.ToolID != "quoin:core:risky" || string(a.Input) != `{"a":1}` || a.Session.SessionID != "session" {
		t.Errorf("%+v", a)
	}
	other.get("/v1/approvals").wants(200, "approvals", "[]")
	other.post("/v1/approvals", map[string]string{"id": a.ID, "decision": "allow-once"}).problem(404, gateway.ProblemNotFound)
	c.get("/v1/approvals?run=run_0").wants(200, "approvals", "[]")
	c.get("/v1/approvals?state=denied").problem(400, gateway.ProblemInvalidRequest)
	c.post("/v1/approvals", map[string]string{"id": a.ID, "decision": "allow-always"}).problem(400, gateway.ProblemInvalidRequest)
	c.post("/v1/approvals", map[string]string{"id": a.ID, "decision": "yes"}).problem(400, gateway.ProblemInvalidRequest)
	c.post("/v1/approvals", map[string]string{"id": a.ID}).problem(400, gateway.ProblemInvalidRequest)
	all.post("/v1/approvals", map[string]string{"id": "apr_0", "decision": "deny"}).problem(404, gateway.ProblemNotFound)

	allow := map[string]string{"id": a.ID, "decision": "allow-once", "by": "ada"}
	all.post("/v1/approvals", allow).wants(200, "state", `"allowed"`, "by", `"server: no token (unverified: \"ada\")"`)
	end(res).wants(200, "status", `"completed"`, "value", `"through"`)
	c.post("/v1/approvals", allow).wants(200, "state", `"allowed"`) // again
	c.post("/v1/approvals", map[string]string{"id": a.ID, "decision": "deny"}).problem(409, gateway.ProblemConflict)
	c.get("/v1/approvals").wants(200, "approvals", "[]")

	a, res = start()
	c.post("/v1/approvals", map[string]string{"id": a.ID, "decision": "deny"}).wants(200, "state", `"denied"`)
	end(res).wants(200, "status", `"failed"`)
	var list gateway.ApprovalList
	if err := json.Unmarshal(all.get("/v1/approvals?state=all&run="+a.RunID).wants(200).body, &list); err != nil || len(list.Approvals) != 1 || list.Approvals[0].ID != a.ID {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestGrants remembers a decision, for its session alone, and takes it back.
func TestGrants(t *testing.T) {
	t.Parallel()
	g := newGate()
	close(g.open)
	ask := policy.Hook{Name: "careful", Tools: []string{"risky"}, Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
		return policy.Verdict{Approval: &policy.ApprovalRequest{Timeout: time.Hour}}, nil
	}}
	h := newHost(t, host.Config{Tools: []catalog.Tool{g.tool("risky")}, Hooks: []policy.Hook{ask}})
	c := serve(t, h, gateway.Options{}, nil)
	other := c.as(host.Session{SessionID: "other"})
	c.get("/v1/grants").wants(200, "grants", "[]")
	id := c.asks(`return await tools.risky({})`)
	var list gateway.ApprovalList
	if err := json.Unmarshal(c.get("/v1/approvals?run="+id).wants(200).body, &list); err != nil || len(list.Approvals) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	c.post("/v1/approvals", map[string]string{"id": list.Approvals[0].ID, "decision": "allow-always", "by": "ada"}).wants(200, "state", `"allowed"`)
	c.wait(id).wants(200, "value", `"through"`)
	c.exec(`return await tools.risky({})`).wants(200, "value", `"through"`) // no question is asked
	var grants gateway.GrantList
	if err := json.Unmarshal(c.get("/v1/grants").wants(200).body, &grants); err != nil || len(grants.Grants) != 1 || grants.Grants[0].By != `server: no token (unverified: "ada")` {
		t.Fatalf("%+v, %v", grants, err)
	}
	other.get("/v1/grants").wants(200, "grants", "[]")
	path := "/v1/grants/" + grants.Grants[0].ID
	remove := func(c *caller) *answer { return c.send(c.request(t.Context(), "DELETE", path, "")) }
	remove(other).problem(404, gateway.ProblemNotFound)
	remove(c.as(host.Session{})).wants(200, "status", `"revoked"`)
	remove(c).problem(404, gateway.ProblemNotFound)
	c.asks(`return await tools.risky({})`)
}
