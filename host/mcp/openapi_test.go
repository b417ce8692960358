package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const petDocument = `{"openapi":"3.0.3","info":{"title":"Pets","version":"7"},"servers":[{"url":"/v1"}],"paths":{
"/pets/{id}":{"get":{"operationId":"getPet","summary":"One pet","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
	"responses":{"200":{"description":"","content":{"application/json":{"schema":{"type":"object"}}}}}},
 "put":{"operationId":"putPet","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
	"requestBody":{"content":{"application/json":{"schema":{"type":"object"}}}},"responses":{"204":{"description":""}}}},
"/slow":{"post":{"operationId":"slow","responses":{}}}}}`

// pets is a server with a document at /openapi.json. What it was asked is in asked.
func pets(t *testing.T, asked chan<- string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, petDocument) })
	mux.HandleFunc("/v1/pets/{id}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- strings.TrimSpace(r.Method + " " + r.URL.EscapedPath() + " " + r.Header.Get("Authorization") + " " + string(body))
		switch id := r.PathValue("id"); {
		case id == "gone":
			http.Error(w, `{"why":"sold"}`, http.StatusGone)
		case id == "broken":
			w.WriteHeader(http.StatusBadGateway)
		case id == "moved":
			http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusFound)
		case id == "flood":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `"`+strings.Repeat("x", 9<<20)+`"`)
		case r.Method == http.MethodPut:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, `{"id":12345678901234567890,"tag":"<b>"}`)
		}
	})
	mux.HandleFunc("/v1/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// connectDescribed connects one server, and waits for the first attempt.
func connectDescribed(t *testing.T, s Server) *Servers {
	t.Helper()
	servers, err := Connect([]Server{s}, Options{Logger: slog.New(slog.DiscardHandler), Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	if err := servers.Tried(t.Context()); err != nil {
		t.Fatal(err)
	}
	return servers
}

func TestOpenAPIServer(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	web := pets(t, asked)
	servers := connectDescribed(t, Server{Name: "pets", OpenAPI: web.URL + "/openapi.json", Headers: map[string]string{"Authorization": "Bearer s3cret"}, Deny: []string{"slow"}, TrustHints: true})
	if st := servers.Status()[0]; st.State != StateConnected || st.Tools != 2 || st.Protocol != "OpenAPI 3.0.3" || st.ServerName != "Pets" || st.ServerVersion != "7" {
		t.Fatalf("%+v", st)
	}
	tools := servers.Tools()
	if get, put := tools[0], tools[1]; get.Name != "getPet" || !get.ReadOnly || get.Title != "One pet" || put.ReadOnly || !put.Idempotent {
		t.Errorf("%+v", tools)
	}
	call := func(tool, input string) (string, *Error) {
		raw, err := servers.Call(t.Context(), Request{Server: "pets", Tool: tool, Input: json.RawMessage(input)})
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		return string(raw), e
	}
	if raw, err := call("getPet", `{"id":"a/b"}`); err != nil || raw != `{"content":[],"structuredContent":{"id":12345678901234567890,"tag":"<b>"}}` {
		t.Errorf("%s, %v", raw, err)
	}
	if got := <-asked; got != "GET /v1/pets/a%2Fb Bearer s3cret" {
		t.Errorf("asked %q", got)
	}
	if raw, err := call("putPet", `{"id":"1","body":{"n":1.50}}`); err != nil || raw != `{"content":[]}` {
		t.Errorf("%s, %v", raw, err)
	}
	if got := <-asked; got != `PUT /v1/pets/1 Bearer s3cret {"n":1.50}` {
		t.Errorf("asked %q", got)
	}
	for _, c := range []struct {
		tool, id string
		code     Code
		unknown  bool
		details  string
	}{
		{"putPet", "gone", CodeStatus, false, `{"body":"{\"why\":\"sold\"}\n","status":410}`},
		{"putPet", "broken", CodeStatus, true, `{"body":"","status":502}`},
		{"putPet", "moved", CodeStatus, true, `{"body":"","status":302}`},
		{"getPet", "broken", CodeStatus, false, `{"body":"","status":502}`},
		{"getPet", "flood", CodeReplyTooLarge, false, ""},
	} {
		_, err := call(c.tool, `{"id":"`+c.id+`"}`)
		<-asked
		if err == nil || err.Code != c.code || err.Unknown != c.unknown || string(err.Details) != c.details || err.Server != "pets" {
			t.Errorf("%+v: %+v", c, err)
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Error("an error has the credentials")
		}
	}
	for _, id := range []string{"..", ".", ""} {
		if _, err := call("getPet", `{"id":"`+id+`"}`); err == nil || err.Code != CodeInvalidInput || err.Unknown {
			t.Errorf("%q: %+v", id, err)
		}
	}
	if _, err := call("slow", `{}`); err == nil || err.Code != CodeUnavailable {
		t.Errorf("a tool that is denied: %+v", err)
	}
}

func TestOpenAPIHintsAreNotTrusted(t *testing.T) {
	t.Parallel()
	servers := connectDescribed(t, Server{Name: "pets", OpenAPI: pets(t, nil).URL + "/openapi.json"})
	for _, tool := range servers.Tools() {
		if tool.ReadOnly || tool.Idempotent {
			t.Errorf("%s is trusted", tool.Name)
		}
	}
}

func TestOpenAPICallEnds(t *testing.T) {
	t.Parallel()
	web := pets(t, nil)
	servers := connectDescribed(t, Server{Name: "pets", OpenAPI: web.URL + "/openapi.json", CallTimeout: minTimeout})
	var e *Error
	if _, err := servers.Call(t.Context(), Request{Server: "pets", Tool: "slow"}); !errors.As(err, &e) || e.Code != CodeTimeout || !e.Unknown {
		t.Errorf("out of time: %+v", err)
	}
	servers = connectDescribed(t, Server{Name: "pets", OpenAPI: web.URL + "/openapi.json"})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := servers.Call(ctx, Request{Server: "pets", Tool: "slow"}); !errors.As(err, &e) || e.Code != CodeCancelled {
		t.Errorf("given up: %+v", err)
	}
}

// TestOpenAPIChoosesNoServer: a document does not say where credentials go.
func TestOpenAPIChoosesNoServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "api.json")
	text := strings.Replace(petDocument, `"/v1"`, `"http://169.254.169.254/latest"`, 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" {
			t.Error("the headers went to where the document comes from")
		}
		_, _ = io.WriteString(w, text)
	}))
	defer web.Close()
	for _, source := range []string{file, web.URL} {
		st := connectDescribed(t, Server{Name: "pets", OpenAPI: source}).Status()[0]
		if st.State != StateDown || st.Error == nil || !strings.Contains(st.Error.Error(), `the document names the server "http://169.254.169.254/latest"; set url to it`) {
			t.Errorf("%s: %+v", source, st)
		}
		st = connectDescribed(t, Server{Name: "pets", OpenAPI: source, URL: "http://127.0.0.1:1/v1", Headers: map[string]string{"X-Key": "k"}}).Status()[0]
		if st.State != StateConnected {
			t.Errorf("%s: %+v", source, st)
		}
	}
}

func TestOpenAPIConfiguration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		server Server
		want   string
	}{
		{Server{Name: "a", OpenAPI: "x.json", Command: "y"}, "openapi and command are both given"},
		{Server{Name: "a", OpenAPI: "https://u:p@h/x"}, "openapi has a user name or password"},
		{Server{Name: "a", OpenAPI: "x.yaml", URL: "ftp://h"}, "url is not an address"},
		{Server{Name: "a", OpenAPI: "x.yaml", URL: "https://h", Headers: map[string]string{"A": "b"}}, ""},
	} {
		err := Check([]Server{c.server})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.server, err, c.want)
		}
	}
}

// TestOpenAPIToolsArePinned: an operation that has another path is another tool.
func TestOpenAPIToolsArePinned(t *testing.T) {
	t.Parallel()
	file, pins := filepath.Join(t.TempDir(), "api.json"), t.TempDir()
	start := func(document string) *Servers {
		if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		servers, err := Connect([]Server{{Name: "pets", OpenAPI: file, URL: "http://127.0.0.1:1"}}, Options{Logger: slog.New(slog.DiscardHandler), PinDir: pins})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = servers.Close() })
		if err := servers.Tried(t.Context()); err != nil {
			t.Fatal(err)
		}
		return servers
	}
	if st := start(petDocument).Status()[0]; st.Tools != 3 || st.Changes != nil {
		t.Fatalf("%+v", st)
	}
	servers := start(strings.Replace(petDocument, `"/slow"`, `"/admin/erase"`, 1))
	if st := servers.Status()[0]; st.Tools != 2 || len(st.Changes) != 1 || st.Changes[0].Tool != "slow" {
		t.Errorf("%+v", st)
	}
	var e *Error
	if _, err := servers.Call(t.Context(), Request{Server: "pets", Tool: "slow"}); !errors.As(err, &e) || e.Code != CodeQuarantined {
		t.Errorf("%v", err)
	}
}
