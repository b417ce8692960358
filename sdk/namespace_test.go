package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

type tagInput struct {
	ID     int      `json:"id"`
	Labels []string `json:"labels,omitempty"`
	Source string   `json:"source,omitempty"`
}

// tagger is a plugin with one tool that returns its input.
func tagger() (*sdk.Plugin, *sdk.ToolRef) {
	p := newPlugin()
	tag := sdk.AddTool(p, describe("tag"), func(_ context.Context, _ *sdk.Call, in tagInput) (tagInput, error) { return in, nil })
	return p, tag
}

func upper(_ context.Context, rc sdk.RunContext, args []json.RawMessage) (any, error) {
	if len(args) == 0 {
		return nil, sdk.Errorf("usage", "give a number")
	}
	return map[string]any{"id": args[0], "source": strings.ToUpper(rc.RunID)}, nil
}

func TestVerbs(t *testing.T) {
	p, tag := tagger()
	p.AddNamespace(sdk.Namespace{
		ID: "issues", Global: "Issues", Description: "Issues.",
		Scope: sdk.Scope{
			"raw":   sdk.Verb(tag),
			"tag":   sdk.Verb(tag).Positional("id").Rest("labels").Fixed("source", "cell"),
			"upper": sdk.Verb(tag).Map(upper),
			"deep":  sdk.Scope{"list": []any{"plain", sdk.Verb(tag).Positional("id")}},
			"limits": map[string]int{
				"page": 50,
			},
		},
	})
	h := sdktest.Start(t, p, nil)
	if got := h.Describe().Namespaces[0].RequiredTools; len(got) != 1 || got[0] != "tag" {
		t.Errorf("required tools %v", got)
	}
	tests := []struct {
		path []string
		args []any
		want string
	}{
		{[]string{"raw"}, []any{tagInput{ID: 1}}, `{"id":1}`},
		{[]string{"tag"}, []any{7, "bug", "ui"}, `{"id":7,"labels":["bug","ui"],"source":"cell"}`},
		{[]string{"upper"}, []any{3}, `{"id":3,"source":"TEST"}`},
		{[]string{"deep", "list", "1"}, []any{4}, `{"id":4}`},
	}
	for _, tt := range tests {
		got, err := h.Verb("issues", tt.path, tt.args...)
		if err != nil || string(got) != tt.want {
			t.Errorf("%v%v: %s, %v; want %s", tt.path, tt.args, got, err, tt.want)
		}
	}
	_, err := h.Verb("issues", []string{"upper"})
	wantError(t, err, protocol.KindTool, "usage", "give a number")
	_, err = h.Verb("issues", []string{"raw"})
	wantError(t, err, protocol.KindInput, protocol.CodeInvalidInput, "id: missing")
	if _, err := h.Verb("issues", []string{"limits"}); err == nil {
		t.Error("plain data was callable")
	}
}

func TestScopePerRun(t *testing.T) {
	p, tag := tagger()
	other := sdk.AddTool(p, describe("other"), returning[none](none{}))
	p.AddNamespace(sdk.Namespace{
		ID: "issues", Global: "Issues", Description: "Issues.", Tools: []*sdk.ToolRef{tag},
		CreateScope: func(_ context.Context, rc sdk.RunContext) (sdk.Scope, error) {
			switch rc.RunID {
			case "refused":
				return nil, sdk.Errorf("no_access", "agent %s may not see issues", rc.AgentID)
			case "undeclared":
				return sdk.Scope{"x": sdk.Verb(other)}, nil
			case "broken":
				return sdk.Scope{"x": struct{ V *sdk.VerbRef }{sdk.Verb(tag)}}, nil
			case "panics":
				panic("boom")
			}
			return sdk.Scope{rc.RunID: sdk.Verb(tag).Map(upper)}, nil
		},
	})
	h := sdktest.Start(t, p, nil)
	run := func(id string) { h.Run(sdk.RunContext{AgentID: "a", RunID: id}) }
	run("mine")
	if got, err := h.Verb("issues", []string{"mine"}, 5); err != nil || string(got) != `{"id":5,"source":"MINE"}` {
		t.Errorf("%s, %v", got, err)
	}
	run("refused")
	_, err := h.Scope("issues")
	wantError(t, err, protocol.KindTool, "no_access", "agent a")
	run("undeclared")
	_, err = h.Scope("issues")
	wantError(t, err, protocol.KindPlugin, protocol.CodeInvalidOutput, "issues", `"other"`, "Tools")
	run("broken")
	_, err = h.Scope("issues")
	wantError(t, err, protocol.KindPlugin, protocol.CodeInvalidOutput, "a verb can only stand")
	run("panics")
	_, err = h.Scope("issues")
	wantError(t, err, protocol.KindPlugin, protocol.CodePanic, "namespace issues", "boom")
}

// methods is a class with one method.
func methods(name, key, method string, v *sdk.VerbRef) *sdk.Class {
	return &sdk.Class{Name: name, Key: key, Methods: map[string]*sdk.VerbRef{method: v}}
}

func TestNamespaceMistakes(t *testing.T) {
	_, foreign := tagger()
	cycle := sdk.Scope{}
	cycle["self"] = cycle
	scope := func(s sdk.Scope) sdk.Namespace {
		return sdk.Namespace{ID: "n", Global: "N", Description: "N.", Scope: s}
	}
	tests := []struct {
		name string
		n    func(tag *sdk.ToolRef) sdk.Namespace
		says []string
	}{
		{"no scope", func(*sdk.ToolRef) sdk.Namespace { return scope(nil) }, []string{"exactly one"}},
		{"no verb", func(*sdk.ToolRef) sdk.Namespace { return scope(sdk.Scope{"a": 1}) }, []string{"no verb"}},
		{"unknown field", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Positional("number")})
		}, []string{`namespace "n"`, "get", `tool "tag"`, "number"}},
		{"rest into a string", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Positional("id").Rest("source")})
		}, []string{"get", "source"}},
		{"required field without a source", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Positional("source")})
		}, []string{"get", "id"}},
		{"Map with Positional", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Positional("id").Map(upper)})
		}, []string{"get", "Map excludes"}},
		{"fixed without JSON", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Fixed("id", func() {})})
		}, []string{"get", `"id"`}},
		{"another plugin's tool", func(*sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(foreign)})
		}, []string{"get", "not added to this plugin"}},
		{"no tool", func(*sdk.ToolRef) sdk.Namespace { return scope(sdk.Scope{"get": sdk.Verb(nil)}) }, []string{"get", "no tool"}},
		{"a function", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag), "f": func() {}})
		}, []string{"f"}},
		{"a cycle", func(*sdk.ToolRef) sdk.Namespace { return scope(cycle) }, []string{"contains itself"}},
		{"an unsafe key", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"__proto__": sdk.Verb(tag)})
		}, []string{"__proto__"}},
		{"a class without a name", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Returns(methods("", "id", "close", sdk.Verb(tag)))})
		}, []string{"needs a name"}},
		{"results without the key", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Returns(methods("Tag", "number", "close", sdk.Verb(tag).Positional("id")))})
		}, []string{"get", `tool "tag"`, `"Tag"`, `"number"`}},
		{"a method like a field", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Returns(methods("Tag", "id", "source", sdk.Verb(tag)))})
		}, []string{"get", `"source"`, "a field of that name"}},
		{"a method whose tool has no such field", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Returns(methods("Tag", "id", "close", sdk.Verb(tag).Positional("number")))})
		}, []string{"Tag.prototype.close", `"number"`}},
		{"a method without a tool", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Returns(methods("Tag", "id", "close", nil))})
		}, []string{"Tag.prototype.close", "no tool"}},
		{"methods in no field", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).ReturnsIn("items", methods("Tag", "id", "close", sdk.Verb(tag)))})
		}, []string{"get", `"items"`}},
		{"a tag with Positional", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Positional("id").Template(func(context.Context, sdk.RunContext, sdk.Template) (any, error) { return nil, nil })})
		}, []string{"get", "as Template does"}},
		{"options with Rest", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Positional("id").Rest("labels").Options()})
		}, []string{"get", "with rest"}},
		{"an option that the tool does not have", func(tag *sdk.ToolRef) sdk.Namespace {
			return scope(sdk.Scope{"get": sdk.Verb(tag).Positional("id").Options("number")})
		}, []string{"get", `option field "number"`}},
		{"global", func(tag *sdk.ToolRef) sdk.Namespace {
			return sdk.Namespace{ID: "n", Global: "my issues", Description: "N.", Scope: sdk.Scope{"get": sdk.Verb(tag)}}
		}, []string{"my issues", "identifier"}},
		{"CreateScope without Tools", func(*sdk.ToolRef) sdk.Namespace {
			return sdk.Namespace{ID: "n", Global: "N", Description: "N.", CreateScope: func(context.Context, sdk.RunContext) (sdk.Scope, error) {
				return nil, errors.New("not called")
			}}
		}, []string{"needs Tools"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, tag := tagger()
			err := p.AddNamespaceSafely(tt.n(tag))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
	p, tag := tagger()
	n := scope(sdk.Scope{"get": sdk.Verb(tag)})
	p.AddNamespace(n)
	if err := p.AddNamespaceSafely(n); err == nil {
		t.Error("one namespace twice")
	}
	n.ID = "m"
	if err := p.AddNamespaceSafely(n); err == nil || !strings.Contains(err.Error(), "already used") {
		t.Errorf("one global twice: %v", err)
	}
}

func TestPluginDescribesScopesThatNeverChange(t *testing.T) {
	p := sdk.New(sdk.Info{ID: "p", Version: "1"}, nil)
	ref := sdk.AddTool(p, sdk.Tool{Name: "t", Description: "T."}, func(context.Context, *sdk.Call, struct{}) (int, error) { return 0, nil })
	p.AddNamespace(sdk.Namespace{ID: "small", Global: "Small", Description: "S.", Scope: sdk.Scope{"x": sdk.Verb(ref)}})
	p.AddNamespace(sdk.Namespace{ID: "large", Global: "Large", Description: "L.", Scope: sdk.Scope{"x": sdk.Verb(ref), "text": strings.Repeat("x", 64<<10)}})
	p.AddNamespace(sdk.Namespace{ID: "made", Global: "Made", Description: "M.", Tools: []*sdk.ToolRef{ref},
		CreateScope: func(context.Context, sdk.RunContext) (sdk.Scope, error) { return sdk.Scope{"x": sdk.Verb(ref)}, nil }})
	d, err := p.Service().Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked, err := p.Service().CreateScope(t.Context(), "small", sdk.RunContext{})
	if err != nil || string(d.Namespaces[0].Scope) != string(asked) {
		t.Errorf("described %s, made %s, %v", d.Namespaces[0].Scope, asked, err)
	}
	if d.Namespaces[1].Scope != nil || d.Namespaces[2].Scope != nil {
		t.Errorf("described a large scope or one made per run: %+v", d.Namespaces[1:])
	}
}
