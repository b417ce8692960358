package gateway_test

import (
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/programs"
)

// TestPrograms: the program of a completed run is saved, listed, run, reviewed and removed
// over HTTP, by its session alone.
func TestPrograms(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{Programs: host.ProgramConfig{Store: &programs.Memory{}}}), gateway.Options{}, nil)
	c.get("/v1/programs").wants(200, "programs", "[]")
	c.post("/v1/programs", `{"name": "twice"}`).wants(404, "code", `"not_found"`)
	c.exec(`const { n } = programs.input({ n: 1 }); return 2 * n`)
	c.post("/v1/programs", `{"name": "no name"}`).wants(400, "code", `"invalid_request"`)
	c.post("/v1/programs", `{"name": "twice", "example": {"n": 1}, "by": "ada"}`).wants(200, "by", `"server: no token (unverified: \"ada\")"`)
	c.post("/v1/programs", `{"name": "twice"}`).wants(409, "code", `"conflict"`)
	c.get("/v1/programs").wants(200)
	c.get("/v1/programs/twice").wants(200, "language", `"javascript"`)
	c.post("/v1/programs/twice", `{"input": {"n": 21}}`).wants(200, "value", "42")
	c.post("/v1/programs/twice", `{"input": {"n": "x"}}`).wants(200, "status", `"failed"`)
	digest := string(c.get("/v1/programs/twice").member("digest"))
	c.post("/v1/program-reviews", `{"name": "twice", "by": "bob"}`).wants(400, "code", `"invalid_request"`)
	c.post("/v1/program-reviews", `{"name": "twice", "digest": "00"}`).wants(409, "code", `"conflict"`)
	c.post("/v1/program-reviews", `{"name": "twice", "by": "bob", "digest": `+digest+`}`).wants(200, "name", `"twice"`)
	c.post("/v1/program-reviews", `{"name": "once", "digest": "00"}`).wants(404, "code", `"not_found"`)
	other := me
	other.SessionID = "other"
	c.as(other).get("/v1/programs").wants(200, "programs", "[]")
	c.as(other).get("/v1/programs/twice").wants(404, "code", `"not_found"`)
	c.as(other).delete("/v1/programs/twice").wants(404, "code", `"not_found"`)
	c.delete("/v1/programs/twice?for=all").wants(400, "code", `"invalid_request"`)
	c.delete("/v1/programs/twice?for=everyone").wants(404, "code", `"not_found"`)
	c.delete("/v1/programs/twice?for=session").wants(200, "status", `"removed"`)
}
