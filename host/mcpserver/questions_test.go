package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/mcpserver"
	"github.com/quoinhq/quoin/host/policy"
)

// inquirer is a tool that asks questions before it answers with the answers.
func inquirer(rounds int, questions ...codemode.Question) catalog.Tool {
	return catalog.Tool{Name: "order", Description: "Orders.", Invoke: func(_ context.Context, in catalog.Invocation) (json.RawMessage, error) {
		round := 0
		if in.Resumption != nil {
			if err := json.Unmarshal(in.Resumption.State, &round); err != nil {
				return nil, err
			}
		}
		if round < rounds {
			state, err := json.Marshal(round + 1)
			if err != nil {
				return nil, err
			}
			return nil, &codemode.InputRequired{Questions: questions, State: state}
		}
		return json.Marshal(in.Resumption.Answers)
	}}
}

var (
	form = codemode.Question{ID: "size", Kind: codemode.QuestionForm, From: "shop", Message: "Which size?",
		Schema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"string","enum":["S","M"]}},"required":["size"]}`)}
	link   = codemode.Question{ID: "pay", Kind: codemode.QuestionURL, From: "shop", Message: "Pay.", URL: "https://shop.example/pay"}
	signIn = codemode.Question{ID: "auth", Kind: codemode.QuestionAuthorization, From: "shop", Message: "Sign in.", URL: "https://shop.example/authorize"}
)

const orders = `return await tools.order({})`

// both offers forms and URLs.
func (p *person) both() *mcp.ClientOptions {
	o := p.options()
	o.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}}
	return o
}

func TestQuestionsOfToolsAreAsked(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{inquirer(3, form, link)}})
	s := newServer(t, h, mcpserver.Options{})
	p := &person{f: func(asked *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		if asked.Mode == "url" {
			return &mcp.ElicitResult{Action: "accept"}, nil
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"size": "M"}}, nil
	}}
	everyWay(t, s, p.both(), func(t *testing.T, client *mcp.ClientSession) {
		p.asked = nil
		_, got := call(t, client, "exec", map[string]any{"code": orders})
		b, err := json.Marshal(got["value"])
		if err != nil || string(b) != `{"pay":{"action":"accept"},"size":{"action":"accept","content":{"size":"M"}}}` {
			t.Fatalf("exec: %v, %v", err, got)
		}
		if len(p.asked) != 6 {
			t.Errorf("asked %d times", len(p.asked))
		}
		for _, asked := range p.asked {
			if !strings.HasPrefix(asked.Message, "shop asks") || asked.Mode == "url" != (asked.URL == link.URL) {
				t.Errorf("asked %+v", asked)
			}
		}
	})
}

// TestSignInIsOverWhenTheTokenIsThere: a client that opens the link has not signed in yet.
func TestSignInIsOverWhenTheTokenIsThere(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{inquirer(1, signIn)}})
	s := newServer(t, h, mcpserver.Options{})
	p := &person{f: func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
		go func() { // the browser comes back
			if n, err := h.Approvals().AnswerAuthorization(context.Background(), "shop", nil, "callback"); n != 1 || err != nil {
				t.Errorf("%d questions were answered: %v", n, err)
			}
		}()
		return &mcp.ElicitResult{Action: "accept"}, nil
	}}
	everyWay(t, s, p.both(), func(t *testing.T, client *mcp.ClientSession) {
		if _, got := call(t, client, "exec", map[string]any{"code": orders}); got["status"] != "completed" {
			t.Errorf("exec: %v", got)
		}
	})
}

// TestLinksForClientsWithoutURLs are told in the result.
func TestLinksForClientsWithoutURLs(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{inquirer(1, signIn)}})
	s := newServer(t, h, mcpserver.Options{})
	p := decides(nil)
	everyWay(t, s, p.options(), func(t *testing.T, client *mcp.ClientSession) {
		_, got := call(t, client, "exec", map[string]any{"code": orders})
		if got["status"] != "waiting" || len(p.asked) > 0 {
			t.Fatalf("exec: %v, asked %d times", got, len(p.asked))
		}
		if told := got["waitingFor"].([]any)[0].(string); !strings.Contains(told, signIn.URL) || !strings.Contains(told, "quoin mcp login shop") {
			t.Errorf("told %s", told)
		}
		list, err := h.Approvals().List(context.Background(), policy.Filter{RunID: got["runId"].(string)})
		if err != nil || len(list) != 1 {
			t.Errorf("%v, %d approvals", err, len(list))
		}
		h.Abort(context.Background(), me, got["runId"].(string))
	})
}
