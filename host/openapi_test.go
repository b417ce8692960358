package host_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/mcp"
)

// TestOpenAPIInACell: operations of a document are functions of a server.
func TestOpenAPIInACell(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.RequestURI() {
		case "/openapi.json":
			_, _ = io.WriteString(w, `{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"paths":{"/pets/{id}":{"get":{"operationId":"pets/get-one","parameters":[
				{"name":"id","in":"path","required":true,"schema":{"type":"integer"}},{"name":"fields","in":"query","schema":{"type":"array","items":{"type":"string"},"default":["name"]}}],
				"responses":{"200":{"description":"","content":{"application/json":{"schema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}}}}}`)
		case "/pets/7?fields=name":
			_, _ = io.WriteString(w, `{"name":"Rex"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"why":"unknown"}`)
		}
	}))
	defer web.Close()
	h := withMCP(t, host.Config{}, mcp.Server{Name: "pets", OpenAPI: web.URL + "/openapi.json"})
	for _, c := range []struct{ code, want string }{
		{`return (await MCP.pets.petsGetOne({ id: 7 })).structuredContent.name`, `"Rex"`},
		{`try { await MCP.pets.petsGetOne({ id: 8 }) } catch (e) { return [e.code, e.details.status, JSON.parse(e.details.body).why, e.effectStatus ?? null] }`, `["mcp_http_status",404,"unknown",null]`},
		{`try { await MCP.pets.petsGetOne({ id: "x" }) } catch (e) { return e.code }`, `"invalid_input"`},
		{`return (await API.read("mcp/pets.d.ts")).content.includes("name?: string")`, `true`},
	} {
		res := exec(h, c.code)
		if res.Status != host.StatusCompleted || !sameResult(string(res.Value), c.want) {
			t.Errorf("%s\n got %s\nwant %s", c.code, show(res), c.want)
		}
	}
}
