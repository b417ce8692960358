package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
)

// maxModelTurns bounds how often a model is asked before a person gets to say something.
const maxModelTurns = 40

// event is what a person who watches is told.
type event struct {
	Kind eventKind `json:"kind"`
	// Text is a part of the model's answer, a program, what is told the model of it, or
	// an error.
	Text string `json:"text,omitempty"`
	// Tool is what the model or its program has called.
	Tool     string    `json:"tool,omitempty"`
	Question *question `json:"question,omitempty"`
}

type eventKind string

const (
	eventText     eventKind = "text"     // a part of what the model says
	eventCall     eventKind = "call"     // the model calls a tool
	eventNested   eventKind = "nested"   // its program has called a tool
	eventResult   eventKind = "result"   // what the model is told of its call
	eventQuestion eventKind = "question" // a call waits for a person
	eventDone     eventKind = "done"     // it is the person's turn
	eventError    eventKind = "error"    // it goes no further; continue tries again
)

// question is an approval as a person is shown it.
type question struct {
	ID          string            `json:"id"`
	Title       string            `json:"title"`
	Description string            `json:"description,omitempty"`
	Tool        string            `json:"tool"`
	Input       json.RawMessage   `json:"input"`
	Decisions   []policy.Decision `json:"decisions,omitempty"`
	// Asks are what a tool wants to know, in place of a decision.
	Asks []codemode.Question `json:"asks,omitempty"`
}

func questionOf(a *policy.Approval) *question {
	return &question{ID: a.ID, Title: a.Title, Description: a.Description, Tool: a.ToolName, Input: a.Input, Decisions: a.Allowed, Asks: a.Questions}
}

// advance continues a conversation until a person has to say something: a decision
// about the approvals that it returns, or else a message. Everything is stored before
// it is acted on, so that another process can continue from wherever this one ends.
func (g *gateway) advance(ctx context.Context, c *conversation, tell func(event)) ([]*policy.Approval, error) {
	for range maxModelTurns {
		asked, err := g.answerCalls(ctx, c, tell)
		if err != nil || len(asked) > 0 {
			return asked, err
		}
		if !c.ModelsTurn {
			return nil, nil
		}
		if err := g.askModel(ctx, c, tell); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the model has been asked %d times without an end: continue if it should go on", maxModelTurns)
}

// askModel sends the conversation to the model and stores its reply.
func (g *gateway) askModel(ctx context.Context, c *conversation, tell func(event)) error {
	turn, err := g.modelTools(ctx, c, "")
	if err != nil {
		return err
	}
	kind := g.provider.kind()
	tools, err := modeltools.Render(kind, turn.Visible)
	if err != nil {
		return err
	}
	answer, err := ask(ctx, g.provider, request{
		model: g.model, instructions: instructions, tools: tools, items: c.Items,
		verify: func(body []byte) error { return turn.VerifyRequest(kind, body) },
	}, func(text string) {
		if text != "" {
			tell(event{Kind: eventText, Text: text})
		}
	})
	if err != nil {
		return explain(kind, g.model, err)
	}
	c.Items = append(c.Items, answer.items...)
	c.Calls, c.ModelsTurn = answer.calls, false
	return g.conversations.save(c)
}

// answerCalls answers the calls of the model's last reply, and hands the answers on. It
// returns the approvals that a call waits for.
func (g *gateway) answerCalls(ctx context.Context, c *conversation, tell func(event)) ([]*policy.Approval, error) {
	if len(c.Calls) == 0 {
		return nil, nil
	}
	for i := range c.Calls {
		if c.Calls[i].Answered {
			continue
		}
		asked, err := g.answer(ctx, c, &c.Calls[i], tell)
		if err != nil || len(asked) > 0 {
			return asked, err
		}
		if err := g.conversations.save(c); err != nil {
			return nil, err
		}
	}
	items, err := encoded(g.provider.answers(c.Calls)...)
	if err != nil {
		return nil, err
	}
	c.Items, c.Calls, c.ModelsTurn = append(c.Items, items...), nil, true
	return nil, g.conversations.save(c)
}

// answer answers one call, or returns what it waits for.
func (g *gateway) answer(ctx context.Context, c *conversation, call *call, tell func(event)) ([]*policy.Approval, error) {
	turn, err := g.modelTools(ctx, c, g.startedBy(ctx, c, call))
	if err != nil {
		return nil, err
	}
	if !turn.Active || call.Name != modeltools.Exec && call.Name != modeltools.Wait {
		return nil, g.callDirectly(ctx, turn, c, call, tell)
	}
	r, err := g.runProgram(ctx, turn, c, call, tell)
	if err != nil {
		return nil, err
	}
	for r.Status == host.StatusWaiting && r.Reason == codemode.ReasonApproval {
		call.Output = append(call.Output, r.Output...)
		if err := g.conversations.save(c); err != nil {
			return nil, err
		}
		asked, err := g.host.Approvals().List(ctx, policy.Filter{RunID: r.RunID})
		if err != nil || len(asked) > 0 {
			return asked, err
		}
		r = turn.Wait(host.WithAskingCaller(ctx), r.RunID)
	}
	r.Output = append(call.Output, r.Output...)
	return nil, call.tellModel(r, tell)
}

// startedBy is the id of the call that has started the run of a call: its own, but for a
// wait the earlier one's. Only that call may continue the run.
func (g *gateway) startedBy(ctx context.Context, c *conversation, call *call) string {
	if call.Name != modeltools.Wait {
		return call.ID
	}
	id, err := host.ParseWait([]byte(call.Arguments))
	if err != nil {
		return call.ID
	}
	run, err := g.host.Runs().Get(ctx, id)
	if err != nil || !c.session("").Owns(run.Session) {
		return call.ID // the wait will say what is wrong with it
	}
	return run.Session.TurnID
}

// runProgram starts the program of a call, or continues its run.
func (g *gateway) runProgram(ctx context.Context, turn *host.ModelTools, c *conversation, call *call, tell func(event)) (*host.Result, error) {
	ctx = host.WithAskingCaller(host.WithToolCallID(ctx, call.ID))
	if call.Name == modeltools.Wait {
		id, err := host.ParseWait([]byte(call.Arguments))
		if err != nil {
			return codemode.Failed(err), nil
		}
		return turn.Wait(ctx, id), nil
	}
	if call.Started {
		return g.goOn(ctx, turn, c, call)
	}
	in, err := host.ParseExec([]byte(call.Arguments))
	if err != nil {
		return codemode.Failed(err), nil
	}
	tell(event{Kind: eventCall, Tool: call.Name, Text: in.Code})
	call.Started = true
	if err := g.conversations.save(c); err != nil {
		return nil, err
	}
	return turn.Exec(ctx, in), nil
}

// goOn continues the run of a call that an earlier process has started, or this one
// before a person was asked.
func (g *gateway) goOn(ctx context.Context, turn *host.ModelTools, c *conversation, call *call) (*host.Result, error) {
	runs, err := g.host.Runs().List(ctx, c.session(call.ID))
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return lost(), nil
	}
	return turn.Wait(ctx, runs[0].ID), nil
}

// lost tells the model that the process of a call ended before the run was stored.
func lost() *host.Result {
	return &host.Result{
		Status: host.StatusFailed, Code: codemode.CodeUnavailable, Phase: codemode.PhaseHost, Dispatched: true,
		Error: "The gateway's process ended while this was running. What it had called may have taken effect: look before you repeat it.",
	}
}

// callDirectly answers a call of a tool that the model sees itself.
func (g *gateway) callDirectly(ctx context.Context, turn *host.ModelTools, c *conversation, call *call, tell func(event)) error {
	tell(event{Kind: eventCall, Tool: call.Name, Text: call.Arguments})
	for _, t := range turn.Visible {
		if t.Name != call.Name {
			continue
		}
		if call.Started {
			return call.tellModel(lost(), tell)
		}
		call.Started = true
		if err := g.conversations.save(c); err != nil {
			return err
		}
		return call.invoke(ctx, t, c, tell)
	}
	return call.refuse(fmt.Sprintf("there is no tool %q; the tools are %v", call.Name, turn.Names()), tell)
}

// invoke calls a tool outside of programs. The schema of its input is checked here: within
// a program the host does that.
func (c *call) invoke(ctx context.Context, t catalog.Tool, in *conversation, tell func(event)) error {
	if !json.Valid([]byte(c.Arguments)) {
		return c.refuse("the arguments are not JSON", tell)
	}
	value, err := t.Invoke(ctx, catalog.Invocation{ID: c.ID, ToolID: t.ID(), IdempotencyKey: in.ID + "/" + c.ID, Session: in.session(c.ID), Input: json.RawMessage(c.Arguments)})
	if err != nil {
		return c.refuse(err.Error(), tell)
	}
	c.Answer, c.Answered = string(value), true
	tell(event{Kind: eventResult, Text: c.Answer})
	return nil
}

// refuse answers a call with an error.
func (c *call) refuse(message string, tell func(event)) error {
	b, err := json.Marshal(map[string]string{"error": message})
	c.Answer, c.Failed, c.Answered = string(b), true, true
	tell(event{Kind: eventResult, Text: c.Answer})
	return err
}

// tellModel makes the result of a program the answer of the call.
func (c *call) tellModel(r *host.Result, tell func(event)) error {
	b, err := modeltools.RenderResult(r, nil)
	if err != nil {
		return err
	}
	c.Answer, c.Failed, c.Answered, c.Output = string(b), r.Status == host.StatusFailed, true, nil
	tell(event{Kind: eventResult, Text: c.Answer})
	return nil
}
