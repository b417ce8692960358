package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcpserver"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/internal/documents"
)

// tasker is a client that takes tasks, which the SDK's does not.
type tasker struct {
	t            testing.TB
	url          string
	capabilities map[string]any
	header       map[string]string // in place of what the client would send
	client       *http.Client
}

func newTasker(t testing.TB, url string) *tasker {
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return &tasker{t: t, url: url, client: client, capabilities: map[string]any{
		"elicitation": map[string]any{}, "extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}},
	}}
}

// answered is the answer to a request.
type answered struct {
	Result map[string]any
	Error  struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// text is a member of the result.
func (a *answered) text(name string) string {
	s, _ := a.Result[name].(string)
	return s
}

// request sends one request and returns its answer.
func (c *tasker) request(method string, params map[string]any) *answered {
	c.t.Helper()
	name, _ := params["name"].(string)
	if id, ok := params["taskId"].(string); ok {
		name = id
	}
	params = maps.Clone(params)
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": c.capabilities,
		"io.modelcontextprotocol/clientInfo": map[string]any{"name": "tasker", "version": "1"},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		r.Header.Set(k, v)
	}
	for k, v := range c.header {
		r.Header.Set(k, v)
	}
	resp, err := c.client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) { // an event stream
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			b = []byte(data)
		}
	}
	a := new(answered)
	if err := json.Unmarshal(b, a); err != nil {
		c.t.Fatalf("%s: %s: %s", method, resp.Status, b)
	}
	return a
}

// exec starts a program and returns the answer, which may be a task.
func (c *tasker) exec(code string) *answered {
	c.t.Helper()
	return c.request("tools/call", map[string]any{"name": "exec", "arguments": map[string]any{"code": code}})
}

// task starts a program that becomes a task, and returns its id.
func (c *tasker) task(code string) string {
	c.t.Helper()
	a := c.exec(code)
	id := a.text("taskId")
	if a.text("resultType") != "task" || id == "" || a.text("status") != "working" {
		c.t.Fatalf("no task: %+v", a)
	}
	for _, name := range []string{"result", "error", "inputRequests", "requestState", "content"} {
		if _, ok := a.Result[name]; ok {
			c.t.Errorf("a new task has %s: %v", name, a.Result[name])
		}
	}
	return id
}

// await asks for a task until it has a status.
func (c *tasker) await(id, status string) *answered {
	c.t.Helper()
	for {
		a := c.request("tasks/get", map[string]any{"taskId": id})
		switch got := a.text("status"); {
		case got == status:
			return a
		case got != "working" && got != "input_required":
			c.t.Fatalf("the task is %+v, expected %s", a, status)
		}
	}
}

// ack requires that a request is acknowledged, with nothing else.
func (c *tasker) ack(method string, params map[string]any) {
	c.t.Helper()
	a := c.request(method, params)
	if names := slices.Sorted(maps.Keys(a.Result)); a.text("resultType") != "complete" || !slices.Equal(names, []string{"_meta", "resultType"}) {
		c.t.Fatalf("%s: %+v", method, a)
	}
}

// awayApprovals is a store of approvals with one method that can fail.
type awayApprovals struct {
	policy.MemoryApprovals
	away atomic.Value // the name of that method
}

// lost has a method fail, and no other.
func (a *awayApprovals) lost(method string) { a.away.Store(method) }

func (a *awayApprovals) fail(method string) error {
	if a.away.Load() == method {
		return errors.New("open /srv/secret/approvals: away")
	}
	return nil
}

func (a *awayApprovals) List(ctx context.Context) ([]*policy.Approval, error) {
	if err := a.fail("List"); err != nil {
		return nil, err
	}
	return a.MemoryApprovals.List(ctx)
}

func (a *awayApprovals) Resolve(ctx context.Context, id string, r policy.Resolution) (*policy.Approval, error) {
	if err := a.fail("Resolve"); err != nil {
		return nil, err
	}
	return a.MemoryApprovals.Resolve(ctx, id, r)
}

// TestTasksKeepErrorsOfStores to the log: they may name hosts and paths.
func TestTasksKeepErrorsOfStores(t *testing.T) {
	t.Parallel()
	store := &awayApprovals{}
	h := newHost(t, host.Config{Approvals: host.ApprovalConfig{Store: store}, Tools: []catalog.Tool{inquirer(1, form)}})
	c := newTasker(t, overHTTP(t, newServer(t, h, mcpserver.Options{}), me).URL)
	id := c.task(`await yield_control(); return await tools.order({})`)
	c.await(id, "input_required")
	store.lost("List")
	for _, method := range []string{"tasks/get", "tasks/update"} {
		a := c.request(method, map[string]any{"taskId": id, "inputResponses": map[string]any{}})
		if a.Error.Code != -32603 || strings.Contains(a.Error.Message, "secret") || !strings.Contains(a.Error.Message, "ask again later") {
			t.Errorf("%s: %+v", method, a)
		}
	}
	store.lost("")
	c.await(id, "input_required")
}

// TestTasks: a program that does not end in time becomes a task with all its output;
// a program that does end stays a call, and so does a program of a client without tasks.
func TestTasks(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	c := newTasker(t, overHTTP(t, newServer(t, h, mcpserver.Options{}), me).URL)
	if caps, _ := c.request("server/discover", map[string]any{}).Result["capabilities"].(map[string]any); caps["extensions"] == nil {
		t.Errorf("the extension is not advertised: %v", caps)
	}
	if a := c.exec(`return 6 * 7`); a.text("resultType") != "complete" || a.Result["content"] == nil {
		t.Errorf("in time: %+v", a)
	}
	id := c.task(`text("one"); await yield_control(); text("two"); await yield_control(); text("three"); return 4`)
	a := c.await(id, "completed")
	inlined, _ := a.Result["result"].(map[string]any)
	structured, err := json.Marshal(inlined["structuredContent"])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"output":["one","two","three"],"status":"completed","value":4}`
	if string(structured) != want || a.text("resultType") != "complete" {
		t.Errorf("got %s, expected %s; resultType %s", structured, want, a.text("resultType"))
	}
	if again := c.await(id, "completed"); again.text("lastUpdatedAt") != a.text("lastUpdatedAt") {
		t.Error("asking again changed the task")
	}
	failed := c.await(c.task(`await yield_control(); throw new Error("no")`), "completed")
	if inlined, _ = failed.Result["result"].(map[string]any); inlined["isError"] != true {
		t.Errorf("a program that fails: %+v", failed)
	}
	c.capabilities = map[string]any{}
	if a := c.exec(`await yield_control(); return 1`); a.text("resultType") != "complete" || a.Result["taskId"] != nil {
		t.Errorf("without tasks: %+v", a)
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if a := c.request(method, map[string]any{"taskId": id, "inputResponses": map[string]any{}}); a.Error.Code != -32021 || !strings.Contains(string(a.Error.Data), "io.modelcontextprotocol/tasks") {
			t.Errorf("%s without tasks: %+v", method, a)
		}
	}
}

// TestTasksAreCancelled: the run is gone, and the task stays cancelled.
func TestTasksAreCancelled(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	c := newTasker(t, overHTTP(t, newServer(t, h, mcpserver.Options{}), me).URL)
	id := c.task(`await yield_control(); await new Promise(r => setTimeout(r, 3600_000))`)
	c.ack("tasks/cancel", map[string]any{"taskId": id})
	c.await(id, "cancelled")
	c.ack("tasks/cancel", map[string]any{"taskId": id})
	c.await(id, "cancelled")
	if runs, err := h.Runs().List(context.Background(), me); err != nil || len(runs) > 0 {
		t.Errorf("left: %v, %v", runs, err)
	}
}

// TestTasksOfOthers: neither another session nor a wrong header reaches a task.
func TestTasksOfOthers(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	s := newServer(t, h, mcpserver.Options{})
	mine := newTasker(t, overHTTP(t, s, me).URL)
	theirs := newTasker(t, overHTTP(t, s, host.Session{SessionID: "other"}).URL)
	id := mine.task(`await yield_control(); await new Promise(r => setTimeout(r, 3600_000))`)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for name, test := range map[string]struct {
			client *tasker
			id     string
		}{"of another session": {theirs, id}, "unknown": {mine, "nothing"}, "a path": {mine, "../../" + id}, "none": {mine, ""}} {
			if a := test.client.request(method, map[string]any{"taskId": test.id, "inputResponses": map[string]any{}}); a.Error.Code != -32602 {
				t.Errorf("%s %s: %+v", method, name, a)
			}
		}
		mine.header = map[string]string{"Mcp-Name": "another"}
		if a := mine.request(method, map[string]any{"taskId": id}); a.Error.Code != -32020 {
			t.Errorf("%s with another name: %+v", method, a)
		}
		mine.header = nil
	}
	mine.ack("tasks/cancel", map[string]any{"taskId": id})
}

// TestTasksAsk: questions and approvals of a task are put to the client, one by one if
// it likes, and each call is made once.
func TestTasksAsk(t *testing.T) {
	t.Parallel()
	var made calls
	second := form
	second.ID = "second"
	h := newHost(t, host.Config{Tools: []catalog.Tool{made.tool("write"), inquirer(1, form, second)}, Hooks: []policy.Hook{{
		Name: "guard", Tools: []string{"write"},
		Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
			return policy.Verdict{Approval: &policy.ApprovalRequest{Title: "Write?", Description: "It writes."}}, nil
		},
	}}})
	c := newTasker(t, overHTTP(t, newServer(t, h, mcpserver.Options{}), me).URL)
	id := c.task(`await tools.write({n: 1}); return await tools.order({})`)

	approval := c.await(id, "input_required")
	asked := slices.Sorted(maps.Keys(approval.Result["inputRequests"].(map[string]any)))
	c.ack("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{"unknown": map[string]any{"x": 1}}})
	if a := c.request("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{asked[0]: 7}}); a.Error.Code != -32602 {
		t.Errorf("an answer that is none: %+v", a)
	}
	yes := map[string]any{"action": "accept", "content": map[string]any{"decision": "allow-once"}}
	c.ack("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{asked[0]: yes}})

	var keys []string
	for len(keys) == 0 || keys[0] == asked[0] {
		a := c.await(id, "input_required")
		keys = slices.Sorted(maps.Keys(a.Result["inputRequests"].(map[string]any)))
	}
	if len(keys) != 2 {
		t.Fatalf("asked %v", keys)
	}
	small := map[string]any{"action": "accept", "content": map[string]any{"size": "S"}}
	c.ack("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{keys[0]: small}})
	left := c.await(id, "input_required").Result["inputRequests"].(map[string]any)
	if len(left) != 1 || left[keys[1]] == nil {
		t.Errorf("left %v", left)
	}
	c.ack("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{keys[1]: small, keys[0]: map[string]any{"action": "decline"}}})
	done, err := json.Marshal(c.await(id, "completed").Result["result"])
	if err != nil || strings.Count(string(done), "accept") == 0 || strings.Contains(string(done), "decline") {
		t.Errorf("%s, %v", done, err)
	}
	if got := made.taken(); !slices.Equal(got, []string{`{"n":1}`}) {
		t.Errorf("calls %v", got)
	}
}

// TestTasksOutliveTheirProcess: another process on the same state answers for a task and
// continues it.
func TestTasksOutliveTheirProcess(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	process := func() (*tasker, func()) {
		store, err := sqlite.Open(context.Background(), state, sqlite.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		cipher, err := store.Cipher("MCP request state")
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := store.Tasks()
		if err != nil {
			t.Fatal(err)
		}
		cfg := host.Config{Store: store, Tools: []catalog.Tool{inquirer(1, form)}}
		cfg.Approvals.Store = store.Approvals()
		h := newHost(t, cfg)
		s := newServer(t, h, mcpserver.Options{Cipher: cipher, Tasks: mcpserver.NewTasks(tasks)})
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.Handle(w, r, me) }))
		return newTasker(t, web.URL), func() {
			web.Close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	first, end := process()
	id := first.task(`text("before"); const answer = await tools.order({}); text("after"); return answer`)
	asked := slices.Sorted(maps.Keys(first.await(id, "input_required").Result["inputRequests"].(map[string]any)))
	end()

	second, end := process()
	again := slices.Sorted(maps.Keys(second.await(id, "input_required").Result["inputRequests"].(map[string]any)))
	if !slices.Equal(asked, again) {
		t.Errorf("asked %v, then %v", asked, again)
	}
	small := map[string]any{"action": "accept", "content": map[string]any{"size": "S"}}
	second.ack("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{asked[0]: small}})
	done := second.await(id, "completed")
	end()

	third, end := process()
	defer end()
	kept := third.await(id, "completed")
	if a, b := mustJSON(t, done.Result["result"]), mustJSON(t, kept.Result["result"]); a != b || !strings.Contains(a, "before") || !strings.Contains(a, "after") {
		t.Errorf("%s, then %s", a, b)
	}
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestATaskLearnsHowItsRunWasEnded: a program that is ended for a reason for which a wait may
// be refused, too, is not waited for again, and its task says how it ended.
func TestATaskLearnsHowItsRunWasEnded(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Quotas: host.Quotas{HeldBytes: 16 << 20}}) // a busy machine takes long for the image
	c := newTasker(t, overHTTP(t, newServer(t, h, mcpserver.Options{}), me).URL)
	a := c.await(c.task(`await yield_control();
const parts = [];
for (let i = 0; i < 144; i++) parts.push(crypto.getRandomValues(new Uint8Array(65536)));
await yield_control();
return parts.length`), "failed")
	if told := a.text("statusMessage"); !strings.Contains(told, "was ended") {
		t.Errorf("%s: %+v", told, a)
	}
}

// TestResultsTooLargeForATask: the task fails, and says why.
func TestResultsTooLargeForATask(t *testing.T) {
	t.Parallel()
	docs, err := documents.OpenDir(t.TempDir(), documents.DirOptions{MaxBytes: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	c := newTasker(t, overHTTP(t, newServer(t, newHost(t, host.Config{}), mcpserver.Options{Tasks: mcpserver.NewTasks(docs)}), me).URL)
	a := c.await(c.task(`await yield_control(); return "x".repeat(4096)`), "failed")
	if told := mustJSON(t, a.Result["error"]); !strings.Contains(told, "too large for a task") || a.Result["result"] != nil {
		t.Errorf("%+v", a)
	}
}
