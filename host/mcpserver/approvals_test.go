package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcpserver"
	"github.com/quoinhq/quoin/host/policy"
)

// calls collects the inputs of a tool.
type calls struct {
	mu     sync.Mutex
	inputs []string
}

func (c *calls) tool(name string) catalog.Tool {
	return catalog.Tool{Name: name, Description: "Writes.", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}},"additionalProperties":false}`),
		Invoke: func(_ context.Context, in catalog.Invocation) (json.RawMessage, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.inputs = append(c.inputs, string(in.Input))
			return in.Input, nil
		}}
}

// taken returns the inputs so far and forgets them.
func (c *calls) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.inputs = nil }()
	return c.inputs
}

// guarded is a host with a tool that a person has to allow.
func guarded(t testing.TB, c *calls, s host.Settings) *host.Host {
	return guardedBy(t, c, host.Config{Settings: s})
}

func guardedBy(t testing.TB, c *calls, cfg host.Config) *host.Host {
	cfg.Tools = []catalog.Tool{c.tool("write")}
	cfg.Hooks = []policy.Hook{{
		Name: "guard", Tools: []string{"write"},
		Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
			return policy.Verdict{Approval: &policy.ApprovalRequest{Title: "Write?", Description: "It writes."}}, nil
		},
	}}
	return newHost(t, cfg)
}

// person answers elicitation as f says, and keeps what it was asked.
type person struct {
	mu    sync.Mutex
	asked []*mcp.ElicitParams
	f     func(*mcp.ElicitParams) (*mcp.ElicitResult, error)
}

func (p *person) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		p.mu.Lock()
		p.asked = append(p.asked, r.Params)
		p.mu.Unlock()
		return p.f(r.Params)
	}}
}

// decides is a person who fills in the form of an approval.
func decides(fields map[string]any) *person {
	return &person{f: func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: fields}, nil
	}}
}

const writes = `return await tools.write({n: 1, s: "a\u202eb"})`

func TestApprovalIsPutToTheCaller(t *testing.T) {
	t.Parallel()
	var c calls
	s := newServer(t, guarded(t, &c, host.Settings{Timeout: time.Minute}), mcpserver.Options{})
	p := decides(map[string]any{"decision": "allow-once"})
	everyWay(t, s, p.options(), func(t *testing.T, client *mcp.ClientSession) {
		p.asked = nil
		_, got := call(t, client, "exec", map[string]any{"code": writes})
		if got["status"] != "completed" {
			t.Fatalf("exec: %v", got)
		}
		if inputs := c.taken(); len(inputs) != 1 {
			t.Errorf("the tool was called with %q", inputs)
		}
		if len(p.asked) != 1 {
			t.Fatalf("asked %d times", len(p.asked))
		}
		message := p.asked[0].Message
		for _, want := range []string{"Write?", "quoin:core:write", "Asked by: guard", "It writes", `"s": "a\\u202eb"`, "SHA-256"} {
			if !strings.Contains(message, want) && !strings.Contains(message, strings.ReplaceAll(want, `\\u`, `\u`)) {
				t.Errorf("the message lacks %s:\n%s", want, message)
			}
		}
		if strings.Contains(message, "\u202e") {
			t.Errorf("the message hides something: %q", message)
		}
	})
}

// TestEveryApprovalOfAProgramIsAsked has calls that wait at once, and one after the other.
func TestEveryApprovalOfAProgramIsAsked(t *testing.T) {
	t.Parallel()
	var c calls
	s := newServer(t, guarded(t, &c, host.Settings{Timeout: time.Minute}), mcpserver.Options{})
	everyWay(t, s, decides(map[string]any{"decision": "allow-once"}).options(), func(t *testing.T, client *mcp.ClientSession) {
		_, got := call(t, client, "exec", map[string]any{"code": `
			const both = await Promise.all([tools.write({n: 1}), tools.write({n: 2})]);
			return [...both, await tools.write({n: 3}), await tools.write({n: 4})].map((x) => x.n)`})
		if got["status"] != "completed" || len(c.taken()) != 4 {
			t.Fatalf("exec: %v", got)
		}
	})
}

func TestWhatAPersonDecides(t *testing.T) {
	t.Parallel()
	var c calls
	s := newServer(t, guarded(t, &c, host.Settings{Timeout: time.Minute}), mcpserver.Options{})
	for name, test := range map[string]struct {
		answer mcp.ElicitResult
		inputs string // that the tool gets
		result string // part of the result
	}{
		"deny":                    {mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, ``, "a person decided so"},
		"decline":                 {mcp.ElicitResult{Action: "decline"}, ``, "a person decided so"},
		"cancel":                  {mcp.ElicitResult{Action: "cancel"}, ``, "quoin approvals allow apr_"},
		"edited":                  {mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow-once", "input": `{"n": 7}`}}, `{"n": 7}`, `"status":"completed"`},
		"blank edit":              {mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow-once", "input": " "}}, `{"n":1,"s":"a` + "\u202e" + `b"}`, `"status":"completed"`},
		"edited against a schema": {mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow-once", "input": `{"n": "x"}`}}, ``, "the input"},
		"edited to nonsense":      {mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow-once", "input": `{`}}, ``, "is not JSON"},
		"edited and denied":       {mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny", "input": `{}`}}, ``, "allow-once"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &person{f: func(*mcp.ElicitParams) (*mcp.ElicitResult, error) { r := test.answer; return &r, nil }}
			everyWay(t, s, p.options(), func(t *testing.T, client *mcp.ClientSession) {
				p.asked = nil
				res, err := client.CallTool(context.Background(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": writes}})
				got := ""
				if err != nil {
					got = err.Error()
				} else {
					got = res.Content[0].(*mcp.TextContent).Text
				}
				for _, again := range p.asked[1:] { // a client that is asked in the middle of the call
					got += again.Message
				}
				if !strings.Contains(got, test.result) {
					t.Errorf("result %s, want %s", got, test.result)
				}
				if inputs := strings.Join(c.taken(), " "); inputs != test.inputs {
					t.Errorf("the tool got %s, want %s", inputs, test.inputs)
				}
			})
		})
	}
}

// TestAnswersWhileTheStoreIsAway: the client can answer again later, and does not learn where
// the store is.
func TestAnswersWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	var c calls
	store := &awayApprovals{}
	s := newServer(t, guardedBy(t, &c, host.Config{Settings: host.Settings{Timeout: time.Minute}, Approvals: host.ApprovalConfig{Store: store}}), mcpserver.Options{})
	for _, method := range []string{"List", "Resolve"} {
		p := &person{f: func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
			store.lost(method)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow-once"}}, nil
		}}
		everyWay(t, s, p.options(), func(t *testing.T, client *mcp.ClientSession) {
			_, err := client.CallTool(context.Background(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": writes}})
			store.lost("")
			var coded *jsonrpc.Error
			if !errors.As(err, &coded) || coded.Code != jsonrpc.CodeInternalError || strings.Contains(coded.Message, "secret") {
				t.Errorf("%s: %v", method, err)
			}
			if inputs := c.taken(); len(inputs) != 0 {
				t.Errorf("%s: the tool was called with %q", method, inputs)
			}
		})
	}
}

// TestCallersThatCannotBeAsked learn what a person has to do, and where.
func TestCallersThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	var c calls
	h := guarded(t, &c, host.Settings{Wait: 200 * time.Millisecond})
	s := newServer(t, h, mcpserver.Options{})
	everyWay(t, s, nil, func(t *testing.T, client *mcp.ClientSession) {
		_, got := call(t, client, "exec", map[string]any{"code": writes})
		for got["reason"] == "pending_tools" { // the call has not asked its question yet
			_, got = call(t, client, "wait", map[string]any{"runId": got["runId"]})
		}
		if got["status"] != "waiting" || got["reason"] != "approval" || got["waitingFor"] == nil {
			t.Fatalf("exec: %v", got)
		}
		list, err := h.Approvals().List(context.Background(), policy.Filter{RunID: got["runId"].(string)})
		if err != nil || len(list) != 1 || !strings.Contains(got["waitingFor"].([]any)[0].(string), list[0].ID) {
			t.Fatalf("%v: %v waits for %v", err, got, list)
		}
		if _, err := h.Approvals().Decide(context.Background(), list[0].ID, policy.AllowOnce, "alice"); err != nil {
			t.Fatal(err)
		}
		if _, got = call(t, client, "wait", map[string]any{"runId": got["runId"]}); got["status"] != "completed" || len(c.taken()) != 1 {
			t.Errorf("wait: %v", got)
		}
	})
}

// TestStatesOfOthers has clients send states that are not theirs to send.
func TestStatesOfOthers(t *testing.T) {
	t.Parallel()
	var c calls
	s := newServer(t, guarded(t, &c, host.Settings{Timeout: time.Minute}), mcpserver.Options{})
	manual := &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
	}
	mine := connectHTTP(t, overHTTP(t, s, me).URL, eras[0], manual)
	other := connectHTTP(t, overHTTP(t, s, host.Session{SessionID: "other"}).URL, eras[0], manual)
	ask := func() (*mcp.CallToolParams, *mcp.CallToolResult) {
		p := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": writes}}
		res, err := mine.CallTool(context.Background(), p)
		if err != nil || !res.NeedsInput() || len(res.InputRequests) != 1 {
			t.Fatalf("%v: %+v", err, res)
		}
		return p, res
	}
	answer := func(p *mcp.CallToolParams, res *mcp.CallToolResult, decision string) {
		p.RequestState, p.InputResponses = res.RequestState, mcp.InputResponseMap{}
		for key := range res.InputRequests {
			p.InputResponses[key] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}
		}
	}
	refused := func(name string, client *mcp.ClientSession, p *mcp.CallToolParams, want string) {
		t.Helper()
		res, err := client.CallTool(context.Background(), p)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", name, res, err, want)
		}
		if inputs := c.taken(); len(inputs) > 0 {
			t.Errorf("%s: the tool was called with %s", name, inputs)
		}
	}

	p, res := ask()
	answer(p, res, "allow-once")
	forged := *p
	letter := "x"
	if p.RequestState[0] == 'x' {
		letter = "y"
	}
	forged.RequestState = letter + p.RequestState[1:]
	refused("forged", mine, &forged, "has made")
	forged.RequestState = "%"
	refused("nonsense", mine, &forged, "has made")
	forged.RequestState = strings.Repeat("A", 1<<20)
	refused("long", mine, &forged, "has made")
	refused("other session", other, p, "another session")
	changed := *p
	changed.Arguments = map[string]any{"code": "return 1"}
	refused("other arguments", mine, &changed, "another call")
	changed = *p
	changed.Name, changed.Arguments = "wait", map[string]any{"runId": "run_0123456789abcdef0123456789abcdef"}
	refused("other tool", mine, &changed, "another call")
	unanswered := *p
	unanswered.InputResponses = nil
	if again, err := mine.CallTool(context.Background(), &unanswered); err != nil || !again.NeedsInput() || len(again.InputRequests) != 1 || len(c.taken()) > 0 {
		t.Errorf("no answers: %v: %+v", err, again)
	}

	done, err := mine.CallTool(context.Background(), p)
	if err != nil || done.IsError || len(c.taken()) != 1 {
		t.Fatalf("%v: %+v", err, done)
	}
	// The same again repeats a request after its answer was lost. It has no effect.
	if again, err := mine.CallTool(context.Background(), p); err == nil && !again.IsError {
		t.Errorf("repeated: %+v", again)
	}
	if inputs := c.taken(); len(inputs) > 0 {
		t.Errorf("repeated: the tool was called with %s", inputs)
	}
	answer(p, res, "deny")
	if replayed, err := mine.CallTool(context.Background(), p); err == nil && !replayed.IsError {
		t.Errorf("replayed: %+v", replayed)
	}
}

// TestClientThatFailsToAsk gets what it would get without elicitation.
func TestClientThatFailsToAsk(t *testing.T) {
	t.Parallel()
	var c calls
	s := newServer(t, guarded(t, &c, host.Settings{Timeout: time.Minute}), mcpserver.Options{})
	p := &person{f: func(*mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, errors.New("no window") }}
	client := connectHTTP(t, overHTTP(t, s, me).URL, eras[1], p.options())
	_, got := call(t, client, "exec", map[string]any{"code": writes})
	if got["status"] != "waiting" || got["waitingFor"] == nil {
		t.Errorf("exec: %v", got)
	}
}

// TestOthersDecide keeps a client from deciding about its own calls.
func TestOthersDecide(t *testing.T) {
	t.Parallel()
	var c calls
	s := newServer(t, guarded(t, &c, host.Settings{Timeout: time.Minute}), mcpserver.Options{OthersDecide: true})
	p := decides(map[string]any{"decision": "allow-once"})
	everyWay(t, s, p.options(), func(t *testing.T, client *mcp.ClientSession) {
		_, got := call(t, client, "exec", map[string]any{"code": writes})
		if got["status"] != "waiting" || got["waitingFor"] == nil || len(p.asked) > 0 || len(c.taken()) > 0 {
			t.Errorf("exec: %v, asked %v", got, p.asked)
		}
	})
}

// TestAnotherDecidesFirst, while an older client still asks its user: the first counts.
func TestAnotherDecidesFirst(t *testing.T) {
	t.Parallel()
	var c calls
	h := guarded(t, &c, host.Settings{Timeout: time.Minute})
	s := newServer(t, h, mcpserver.Options{})
	p := &person{f: func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
		list, err := h.Approvals().List(context.Background(), policy.Filter{})
		if err != nil || len(list) != 1 {
			return nil, fmt.Errorf("%w, %d approvals", err, len(list))
		}
		if _, err := h.Approvals().Decide(context.Background(), list[0].ID, policy.Deny, "alice"); err != nil {
			t.Error(err)
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow-once"}}, nil
	}}
	client := connectHTTP(t, overHTTP(t, s, me).URL, eras[1], p.options())
	if _, got := call(t, client, "exec", map[string]any{"code": writes}); got["status"] != "failed" || len(c.taken()) > 0 {
		t.Errorf("exec: %v", got)
	}
}
