package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

type lamp struct {
	Name string `json:"name"`
}

type lit struct {
	Name string `json:"name"`
	was  bool
}

// lamps returns a plugin with a tool on that is undone as r says.
func lamps(r *sdk.Revert) *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: "lamps", Version: "1.0.0", Description: "Lamps."}, nil)
	off := func(context.Context, *sdk.Call, lamp) (string, error) { return "off", nil }
	sdk.AddTool(p, sdk.Tool{Name: "off", Description: "Switches a lamp off.", Idempotent: true}, off)
	sdk.AddTool(p, sdk.Tool{Name: "smash", Description: "Breaks a lamp."}, off)
	sdk.AddTool(p, sdk.Tool{Name: "on", Description: "Switches a lamp on.", Revert: r}, func(_ context.Context, _ *sdk.Call, in lamp) (lit, error) {
		return lit{Name: in.Name, was: in.Name == "on before"}, nil
	})
	return p
}

// TestRevertBy: a tool says with each call how it is undone, or why not. What it needs of
// the time before the call is in its output, and does not leave the plugin.
func TestRevertBy(t *testing.T) {
	r := sdk.RevertBy(func(in lamp, out lit) (*sdk.Inverse, error) {
		switch in.Name {
		case "broken":
			return nil, errors.New("broken lamps stay broken")
		case "panic":
			panic("no lamp")
		case "wrong tool":
			return &sdk.Inverse{Tool: "dim", Input: in}, nil
		case "wrong input":
			return &sdk.Inverse{Tool: "off", Input: 7}, nil
		case "not twice":
			return &sdk.Inverse{Tool: "smash", Input: in}, nil
		case "long":
			return &sdk.Inverse{Tool: "off", Input: lamp{strings.Repeat("x", 64<<10)}}, nil
		}
		if out.was {
			return nil, nil
		}
		return &sdk.Inverse{Tool: "off", Input: in}, nil
	})
	h := sdktest.Start(t, lamps(r), nil)
	if info, _ := h.Describe().Tool("on"); !info.Revertible {
		t.Error("the tool is not said to be revertible")
	}
	if info, _ := h.Describe().Tool("off"); info.Revertible {
		t.Error("another tool is said to be revertible")
	}
	i := h.CallInverse("on", lamp{"desk"})
	if i == nil || i.Tool != "off" || string(i.Input) != `{"name":"desk"}` || i.Impossible != "" {
		t.Errorf("got %+v", i)
	}
	if err := h.Revert(i); err != nil {
		t.Error(err)
	}
	if i := h.CallInverse("on", lamp{"on before"}); i != nil {
		t.Errorf("a call that changed nothing is undone by %+v", i)
	}
	for name, want := range map[string]string{
		"broken": "broken lamps stay broken", "panic": "the plugin failed to say how", "wrong tool": `no tool "dim"`,
		"wrong input": "must be an object", "not twice": "could be called twice", "long": "at most 65536 fit",
	} {
		if i := h.CallInverse("on", lamp{name}); i == nil || i.Tool != "" || !strings.Contains(i.Impossible, want) {
			t.Errorf("%s: got %+v, want %q", name, i, want)
		}
	}
	result, err := h.Call("on", lamp{"desk"})
	if err != nil || string(result) != `{"name":"desk"}` {
		t.Errorf("got %s, %v", result, err)
	}
}

// TestRevertByMistakes are found when the tool is added.
func TestRevertByMistakes(t *testing.T) {
	add := func(tool sdk.Tool) error {
		tool.Name, tool.Description = "on", "Switches a lamp on."
		p := sdk.New(sdk.Info{ID: "lamps", Version: "1.0.0", Description: "Lamps."}, nil)
		_, err := sdk.AddToolSafely(p, tool, func(context.Context, *sdk.Call, lamp) (lit, error) { return lit{}, nil })
		return err
	}
	err := add(sdk.Tool{Revert: sdk.RevertBy(func(string, lit) (*sdk.Inverse, error) { return nil, nil })})
	if err == nil || !strings.Contains(err.Error(), "expected the types of the handler, sdk_test.lamp and sdk_test.lit") {
		t.Errorf("other types: %v", err)
	}
	err = add(sdk.Tool{ReadOnly: true, Revert: sdk.RevertBy(func(lamp, lit) (*sdk.Inverse, error) { return nil, nil })})
	if err == nil || !strings.Contains(err.Error(), "ReadOnly and has a Revert") {
		t.Errorf("a read-only tool: %v", err)
	}
}

// TestRevertOfARawTool: both types are raw JSON.
func TestRevertOfARawTool(t *testing.T) {
	p := lamps(nil)
	p.AddRawTool(sdk.Tool{Name: "raw", Description: "Switches a lamp on.", Revert: sdk.RevertBy(func(in, _ json.RawMessage) (*sdk.Inverse, error) {
		return &sdk.Inverse{Tool: "off", Input: in}, nil
	})}, sdk.RawSchemas{Input: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, _ *sdk.Call, in json.RawMessage) (json.RawMessage, error) {
		return in, nil
	})
	h := sdktest.Start(t, p, nil)
	if i := h.CallInverse("raw", lamp{"desk"}); i == nil || i.Tool != "off" || string(i.Input) != `{"name":"desk"}` {
		t.Errorf("got %+v", i)
	}
}
