package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
)

// call calls a tool of a plugin as a host does, and prints what comes back.
func call(p *sdk.Plugin, tool, input string) {
	show := func(v json.RawMessage) error {
		fmt.Println("progress:", string(v))
		return nil
	}
	out, err := p.Service().CallTool(context.Background(), protocol.CallRequest{Tool: tool, Input: json.RawMessage(input)}, show)
	var failure *protocol.Error
	if errors.As(err, &failure) {
		fmt.Printf("%s: %s\n", failure.Code, failure.Message)
		return
	}
	fmt.Println(string(out), err)
}

// Tags of the input's fields become its schema. The host and the plugin refuse what
// does not fit, before the handler runs.
func ExampleAddTool() {
	type Input struct {
		State string `json:"state,omitempty" enum:"open,closed" default:"open"`
		Limit int    `json:"limit,omitempty" min:"1" max:"50" default:"20"`
	}
	p := sdk.New(sdk.Info{ID: "issues", Version: "1.0.0", Description: "Issues."}, nil)
	sdk.AddTool(p, sdk.Tool{Name: "issues_list", Description: "Lists issues.", ReadOnly: true},
		func(_ context.Context, _ *sdk.Call, in Input) (string, error) {
			return fmt.Sprintf("%d %s issues", in.Limit, in.State), nil
		})

	call(p, "issues_list", `{}`)
	call(p, "issues_list", `{"limit": 3, "state": "closed"}`)
	// Output:
	// "20 open issues" <nil>
	// "3 closed issues" <nil>
}

// An error with a code tells a program what to do. Any other error has the code
// tool_error.
func ExampleErrorf() {
	p := sdk.New(sdk.Info{ID: "notes", Version: "1.0.0", Description: "Notes."}, nil)
	sdk.AddTool(p, sdk.Tool{Name: "notes_get", Description: "Returns one note.", ReadOnly: true},
		func(_ context.Context, _ *sdk.Call, in GetInput) (Note, error) {
			if in.ID > 100 {
				return Note{}, errors.New("the disk is on fire")
			}
			return Note{}, sdk.Errorf("not_found", "there is no note %d", in.ID)
		})

	call(p, "notes_get", `{"id": 7}`)
	call(p, "notes_get", `{"id": 107}`)
	// Output:
	// not_found: there is no note 7
	// tool_error: the disk is on fire
}

// A long call reports how far it is. People who watch the run see it; the program
// does not.
func ExampleCall_Progress() {
	p := sdk.New(sdk.Info{ID: "mail", Version: "1.0.0", Description: "Mail."}, nil)
	sdk.AddTool(p, sdk.Tool{Name: "mail_sync", Description: "Fetches new mail."},
		func(_ context.Context, c *sdk.Call, _ none) (int, error) {
			for i := 1; i <= 2; i++ {
				if err := c.Progress(sdk.Steps{Done: float64(i), Total: 2}); err != nil {
					return 0, err
				}
			}
			return 2, nil
		})

	call(p, "mail_sync", `{}`)
	// Output:
	// progress: {"done":1,"total":2}
	// progress: {"done":2,"total":2}
	// 2 <nil>
}

// A plugin reads its configuration before its first call. An error refuses the load,
// and the operator sees it.
func ExamplePlugin_OnConfigure() {
	cfg := struct {
		Units string `json:"units"`
	}{Units: "metric"} // the default
	p := sdk.New(sdk.Info{ID: "weather", Version: "1.0.0", Description: "Weather."}, nil)
	p.OnConfigure(func(_ context.Context, c sdk.Config) error {
		if err := c.Decode(&cfg); err != nil {
			return err
		}
		if cfg.Units != "metric" && cfg.Units != "imperial" {
			return fmt.Errorf("units is %q; write metric or imperial", cfg.Units)
		}
		return nil
	})

	err := p.Service().Configure(context.Background(), protocol.Configuration{JSON: json.RawMessage(`{"units": "kelvin"}`)})
	fmt.Println(err)
	// Output:
	// plugin weather refuses its configuration: units is "kelvin"; write metric or imperial
}

// A before-hook can refuse a call, rewrite its input, or ask a person.
func ExamplePlugin_BeforeToolCall() {
	p := sdk.New(sdk.Info{ID: "guard", Version: "1.0.0", Description: "Guards deletions."}, nil)
	p.BeforeToolCall(func(_ context.Context, c *sdk.ToolCall) (sdk.Verdict, error) {
		var in map[string]json.RawMessage
		if err := json.Unmarshal(c.Params, &in); err != nil {
			return sdk.Verdict{}, err
		}
		if _, all := in["all"]; all {
			return sdk.Verdict{Block: true, Reason: "delete one item at a time"}, nil
		}
		return sdk.Verdict{Approval: &sdk.Approval{Title: "Delete " + string(in["id"]) + "?"}}, nil
	}, "*_delete")

	hooks := p.Service().(protocol.HookService)
	for _, params := range []string{`{"all": true}`, `{"id": 7}`} {
		v, err := hooks.BeforeToolCall(context.Background(), protocol.ToolCall{Params: json.RawMessage(params)})
		if v.Block {
			fmt.Println("blocked:", v.Reason, err)
		}
		if v.Approval != nil {
			fmt.Println("asks:", v.Approval.Title, err)
		}
	}
	// Output:
	// blocked: delete one item at a time <nil>
	// asks: Delete 7? <nil>
}

// A Secret prints as "[secret]". Reveal is the only way to its text.
func ExampleSecret() {
	token := sdk.NewSecret("hunter2")
	b, err := json.Marshal(map[string]any{"token": token})
	fmt.Println(token, string(b), err)
	fmt.Println(strings.ToUpper(token.Reveal()))
	// Output:
	// [secret] {"token":"[secret]"} <nil>
	// HUNTER2
}

// A verb of a namespace turns the arguments of a call into the tool's input: by
// position, with the rest as a list, and with values that programs cannot change.
func ExampleVerb() {
	type Input struct {
		Room string   `json:"room"`
		Text string   `json:"text"`
		To   []string `json:"to,omitempty"`
		From string   `json:"from"`
	}
	p := sdk.New(sdk.Info{ID: "chat", Version: "1.0.0", Description: "Chat."}, nil)
	send := sdk.AddTool(p, sdk.Tool{Name: "chat_send", Description: "Sends a message."},
		func(_ context.Context, _ *sdk.Call, in Input) (Input, error) { return in, nil })
	p.AddNamespace(sdk.Namespace{
		ID: "chat", Global: "Chat", Description: "Chat.",
		// Chat.send("kitchen", "Tea?", "ada", "bob")
		Scope: sdk.Scope{"send": sdk.Verb(send).Positional("room", "text").Rest("to").Fixed("from", "agent")},
	})

	text, err := p.Service().CreateScope(context.Background(), "chat", protocol.RunContext{})
	if err != nil {
		fmt.Println(err)
		return
	}
	scope, err := namespaces.Decode(text, namespaces.Limits{}) // as the host does
	if err != nil {
		fmt.Println(err)
		return
	}
	verb, err := scope.Resolve([]string{"send"})
	if err != nil {
		fmt.Println(err)
		return
	}
	input, err := verb.Mapping.Apply([]json.RawMessage{[]byte(`"kitchen"`), []byte(`"Tea?"`), []byte(`"ada"`), []byte(`"bob"`)})
	fmt.Println(verb.Tool, string(input), err)
	// Output:
	// chat_send {"from":"agent","room":"kitchen","text":"Tea?","to":["ada","bob"]} <nil>
}

// AddRawTool takes schemas that were written by hand, for input that no Go type
// describes.
func ExamplePlugin_AddRawTool() {
	p := sdk.New(sdk.Info{ID: "echo", Version: "1.0.0", Description: "Echo."}, nil)
	p.AddRawTool(sdk.Tool{Name: "echo", Description: "Returns its input.", ReadOnly: true},
		sdk.RawSchemas{Input: json.RawMessage(`{"type": "object", "minProperties": 1}`)},
		func(_ context.Context, _ *sdk.Call, input json.RawMessage) (json.RawMessage, error) {
			return input, nil
		})

	call(p, "echo", `{"any": ["thing"]}`)
	// Output:
	// {"any": ["thing"]} <nil>
}
