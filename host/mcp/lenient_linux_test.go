package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func init() {
	badServers["content is null"] = listOf(oneTool, `{"content":null,"structuredContent":{"a":9007199254740993},"x":1}`)
	// what it sends starts with a byte order mark, and has the ids of requests as texts
	badServers["marked"] = func(r *raw) error {
		return r.serve(func(q request) error {
			result := `{"content":[]}`
			if q.Method == "tools/list" {
				result = oneTool
			}
			return r.say("\uFEFF"+`{"jsonrpc":"2.0","id":"%s","result":%s}`, q.ID, result)
		})
	}
	badServers["says more"] = func(r *raw) error {
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				return r.reply(q, oneTool)
			}
			return r.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no","data":{"hint":"q must be a string"}}}`, q.ID)
		})
	}
	deep := `{"name":"deep","inputSchema":` + strings.Repeat(`{"properties":{"n":`, 60) + `{}` + strings.Repeat(`}}`, 60) + `}`
	for role, failure := range map[string]string{"second page refused": `"error":{"code":-32602,"message":"Invalid cursor"}`, "second page odd": `"result":7`} {
		badServers[role] = func(r *raw) error {
			return r.serve(func(q request) error {
				if strings.Contains(string(q.Params), `"p2"`) {
					return r.say(`{"jsonrpc":"2.0","id":%s,%s}`, q.ID, failure)
				}
				return r.reply(q, `{"tools":[{"name":"good"},`+deep+`],"nextCursor":"p2"}`)
			})
		}
	}
	badServers["empty cursors"] = func(r *raw) error {
		return r.serve(func(q request) error { return r.reply(q, pageAfter(q, "2025-06-18")) })
	}
	badServers["empty cursors of today"] = func(r *raw) error {
		for {
			line, err := r.in.ReadBytes('\n')
			if err != nil {
				return nil
			}
			var q request
			if err := json.Unmarshal(line, &q); err != nil {
				return err
			}
			if q.ID == nil {
				continue
			}
			if err := r.reply(q, pageAfter(q, statelessVersion)); err != nil {
				return err
			}
		}
	}
}

// pageAfter is a server with lists of two pages; the cursor of the second is an empty text.
func pageAfter(q request, version string) string {
	const meta = `"resultType":"complete","ttlMs":0,"cacheScope":"private",`
	var p struct {
		Cursor *string `json:"cursor"`
	}
	if err := json.Unmarshal(q.Params, &p); err != nil && len(q.Params) > 0 {
		return err.Error()
	}
	page, next := 1, `"nextCursor":"",`
	if p.Cursor != nil {
		page, next = 2, ""
	}
	switch q.Method {
	case methodDiscover:
		return `{` + meta + `"supportedVersions":["` + version + `"],"capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"f","version":"1"}}`
	case "tools/list":
		return fmt.Sprintf(`{%s%s"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]}`, meta, next, page)
	}
	return fmt.Sprintf(`{%s%s"resources":[{"uri":"memo://%d","name":"m"}]}`, meta, next, page)
}

// TestWhatServersSend: answers that are not quite right are read.
func TestWhatServersSend(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]string{
		"content is null": `{"content":[],"structuredContent":{"a":9007199254740993},"x":1}`,
		"marked":          `{"content":[]}`,
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			w := connect(t, Options{}, self(t, "s", role))
			raw, err := w.Call(t.Context(), Request{Server: "s", Tool: "t", Input: json.RawMessage(`{}`)})
			if err != nil || string(raw) != want {
				t.Errorf("got %s, %v", raw, err)
			}
		})
	}
	w := connect(t, Options{}, self(t, "s", "says more"))
	if e := w.refuse(t, t.Context(), "s", "t", `{}`); e.Code != CodeRefused || string(e.Details) != `{"code":-32602,"data":{"hint":"q must be a string"}}` {
		t.Errorf("got %+v, details %s", e, e.Details)
	}
}

// TestToolsNamedLikeOperations have another name here, and their own at the server.
func TestToolsNamedLikeOperations(t *testing.T) {
	t.Parallel()
	list := func(description string) string {
		return `{"tools":[{"name":"call","inputSchema":{}},{"name":"prompts_get","description":"` + description + `"},{"name":"prompts_get_tool"},{"name":"resources_list"}]}`
	}
	s, set := shifty(t, list("Gets."))
	w := connect(t, Options{PinDir: t.TempDir()}, s)
	if got := w.names(); !slices.Equal(got, []string{"call", "prompts_get_tool_", "prompts_get_tool", "resources_list_tool"}) {
		t.Fatalf("tools %q", got)
	}
	set(list("Something else."))
	w.call(t, "shifty", "call", `{}`)
	w.until(t, func() bool { return !w.has("prompts_get_tool_") }) // held until it is accepted
	if !w.has("prompts_get_tool") || len(w.Status()[0].Changes) != 1 {
		t.Errorf("tools %q, changes %v", w.names(), w.Status()[0].Changes)
	}
	url := badHTTP(t, func(w http.ResponseWriter, _ *http.Request, q request) {
		answer(w, q, fmt.Sprintf(`{"content":[],"sent":%s}`, q.Params))
	})
	operation := Server{Name: "f", URL: url}
	v := connect(t, Options{}, operation)
	v.keepers[0].mu.Lock()
	v.keepers[0].byName["x"] = &Tool{Server: "f", Name: "x", offered: "resources_list"}
	v.keepers[0].mu.Unlock()
	if out := fmt.Sprint(v.call(t, "f", "x", `{}`)); !strings.Contains(out, "name:resources_list") {
		t.Errorf("the server was sent %s", out)
	}
}

// TestTextIDs: the digits of an id as a text answer the request with that number. What else is
// odd is read over the network, too.
func TestTextIDs(t *testing.T) {
	t.Parallel()
	results := map[string]string{
		methodInitialize: `{"protocolVersion":"2025-06-18","capabilities":[],"serverInfo":{"name":5,"version":"0"}}`,
		"tools/list":     `{"tools":[{"name":"t"},{"name":"deep","inputSchema":` + strings.Repeat(`{"properties":{"n":`, 60) + `{}` + strings.Repeat(`}}`, 60) + `}]}`,
		"tools/call":     `{"content":[]}`,
	}
	for kind, before := range map[string]string{"application/json": "", "text/event-stream": ": hello\n\nid: 7\nevent: message\ndata: "} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var q request
				if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&q) != nil {
					http.Error(w, "no", http.StatusMethodNotAllowed)
					return
				}
				if results[q.Method] == "" {
					w.WriteHeader(http.StatusAccepted)
					return
				}
				w.Header().Set("Content-Type", kind)
				fmt.Fprintf(w, `%s{"jsonrpc":"2.0","id":"%s","result":%s}`+"\n\n", before, q.ID, results[q.Method])
			}))
			w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "f", URL: url, CallTimeout: 10 * time.Second, ConnectTimeout: 10 * time.Second})
			w.call(t, "f", "t", `{}`)
		})
	}
}

// TestEmptyCursors: an empty text leads on in the newest protocol, and ends a list before.
func TestEmptyCursors(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q request
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&q) != nil {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		answer(w, q, pageAfter(q, statelessVersion))
	})
	for name, c := range map[string]struct {
		server Server
		tools  []string
		second string // page of resources
	}{
		"older": {self(t, "s", "empty cursors"), []string{"t1"}, ""},
		"stdio": {self(t, "s", "empty cursors of today"), []string{"t1", "t2"}, "memo://2"},
		"http":  {Server{Name: "s", URL: serve(t, handler)}, []string{"t1", "t2"}, "memo://2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := connect(t, Options{}, c.server)
			got := slices.DeleteFunc(w.names(), func(n string) bool { return isOperation(n) })
			if !slices.Equal(got, c.tools) {
				t.Fatalf("tools %q\n%s", got, w.log)
			}
			if c.second == "" {
				return
			}
			if out := fmt.Sprint(w.call(t, "s", "resources_list", `{"cursor":""}`)); !strings.Contains(out, c.second) {
				t.Errorf("the second page: %s", out)
			}
		})
	}
}

// TestAPageThatFails costs only the tools from there on, and a schema that is too deep only its
// own checks.
func TestAPageThatFails(t *testing.T) {
	t.Parallel()
	for role, why := range map[string]string{"second page refused": "Invalid cursor", "second page odd": "the page is not one"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			w := connect(t, Options{}, self(t, "s", role))
			if got := w.names(); !slices.Equal(got, []string{"good", "deep"}) {
				t.Errorf("tools %q: %v", got, w.Status()[0].Error)
			}
			left := fmt.Sprint(w.Status()[0].LeftOut)
			for _, want := range []string{"the tools from page 2 on", why, "deep (it is nested more than 100 levels deep)"} {
				if !strings.Contains(left, want) {
					t.Errorf("left out %s, want %q", left, want)
				}
			}
		})
	}
}

// TestACrashTakesAServerFromNoOne: a connection that answered calls resets the pauses.
func TestACrashTakesAServerFromNoOne(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{FirstDelay: time.Millisecond, MaxDelay: time.Hour}, self(t, "good", "good"))
	for range 5 {
		w.until(t, func() bool { return w.has("echo") })
		w.call(t, "good", "echo", `{}`)
		w.refuse(t, t.Context(), "good", "crash", `{}`)
		w.until(t, func() bool { return !w.has("echo") })
	}
	w.until(t, func() bool { return w.has("echo") })
	if n := strings.Count(w.log.String(), "retry=1ms"); n != 5 {
		t.Errorf("%d of 5 pauses were the first one:\n%s", n, w.log)
	}
}
