package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/namespaces"
)

// notes is a namespace of the owner "notes" over the tools named.
func notes(required ...string) namespaces.Registration {
	return namespaces.Registration{
		PluginID:      "notes",
		ID:            "notes",
		GlobalName:    "Notes",
		Description:   "Short notes.",
		RequiredTools: required,
		CreateScope: func(_ context.Context, rc namespaces.RunContext) (any, error) {
			return map[string]any{
				"who":  rc.SessionID,
				"list": []any{1, "two", nil},
				"get":  namespaces.Call{Tool: required[0]},
				"deep": map[string]any{"pick": namespaces.Call{
					Tool:    required[0],
					Mapping: namespaces.Mapping{Kind: namespaces.MapPositional, Positional: []string{"a", "b"}},
				}},
			}, nil
		},
	}
}

func owned(name, owner string) catalog.Tool {
	t := echo(name)
	t.Owner = owner
	return t
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{
		Tools:      []catalog.Tool{owned("notes_get", "notes")},
		Namespaces: []namespaces.Registration{notes("notes_get")},
	})
	for _, tc := range []struct{ name, code, want string }{
		{"first argument", `return await Notes.get({id: 1}, "ignored")`, `{"id":1}`},
		{"no argument", `return await Notes.get()`, `{}`},
		{"positional", `return await Notes.deep.pick(1, [2])`, `{"a":1,"b":[2]}`},
		{"too many", `try { await Notes.deep.pick(1, 2, 3) } catch (e) { return e.message.slice(0, 43) }`, `"Notes.deep.pick: takes at most 2 arguments "`},
		{"a signal is no argument", `return await Notes.deep.pick(1, 2, {signal: new AbortController().signal})`, `{"a":1,"b":2}`},
		{"by the map", `return await namespaces.Notes.get({id: 2})`, `{"id":2}`},
		{"same object", `return Notes === namespaces.Notes && Notes.get === namespaces.Notes.get`, `true`},
		{"data", `return [Notes.who, Notes.list]`, `["session",[1,"two",null]]`},
		{"names", `return [Object.keys(namespaces), Object.keys(Notes).sort()]`, `[["Notes"],["deep","get","list","who"]]`},
		{"frozen", `"use strict"; try { Notes.get = 1; return "changed" } catch (e) { return e.name }`, `"TypeError"`},
		{"frozen deep", `"use strict"; try { Notes.deep.x = 1; return "changed" } catch (e) { return e.name }`, `"TypeError"`},
		{"no prototype", `return [Object.getPrototypeOf(Notes), "toString" in Notes, typeof Notes.constructor]`, `[null,false,"undefined"]`},
		{"shadowed by the cell", `const Notes = 7; return Notes`, `7`},
	} {
		t.Run(tc.name, func(t *testing.T) { wantValue(t, exec(h, tc.code), tc.want) })
	}
	r := exec(h, `await Notes.get(); await Notes.get(); return 1`)
	if r.Telemetry.NamespaceCount != 2 || r.Telemetry.CallCount != 0 {
		t.Errorf("counts %+v, want 2 namespace calls", r.Telemetry)
	}
}

// TestBadInputOfAVerbSaysHowToCallIt: the tool wants an object, but the verb of a
// positional mapping must not be given one.
func TestBadInputOfAVerbSaysHowToCallIt(t *testing.T) {
	t.Parallel()
	tool := owned("notes_get", "notes")
	tool.Parameters = json.RawMessage(`{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}`)
	h := start(t, host.Config{Tools: []catalog.Tool{tool}, Namespaces: []namespaces.Registration{notes("notes_get")}})
	for _, tc := range []struct{ name, call, want string }{
		{"positional", `Notes.deep.pick({a: "x"})`, `a: is object but must be string. Expected: { a: string, b?: integer }. Call it as Notes.deep.pick(a, b?).`},
		{"an object", `Notes.get({a: 1})`, `a: is number but must be string. Expected: { a: string, b?: integer }`},
		{"no verb", `tools.notes_get({a: 1})`, `a: is number but must be string. Expected: { a: string, b?: integer }`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want, err := json.Marshal("Invalid input for tool quoin:notes:notes_get: " + tc.want)
			if err != nil {
				t.Fatal(err)
			}
			wantValue(t, exec(h, `try { await `+tc.call+` } catch (e) { return e.message }`), string(want))
		})
	}
}

// TestNamespaceVisibility: without every required tool, owned by the namespace's
// own plugin, there is no global, no entry, and nothing to read.
func TestNamespaceVisibility(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		tools []catalog.Tool
		want  bool
	}{
		{"owned", []catalog.Tool{owned("a", "notes"), owned("b", "notes")}, true},
		{"one is absent", []catalog.Tool{owned("a", "notes")}, false},
		{"all are absent", nil, false},
		{"one is another plugin's", []catalog.Tool{owned("a", "notes"), owned("b", "thief")}, false},
		{"another plugin has one of the same name", []catalog.Tool{owned("a", "notes"), owned("b", "notes"), owned("b", "thief")}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := start(t, host.Config{Tools: tc.tools, Namespaces: []namespaces.Registration{notes("a", "b")}})
			want := `["undefined",false,0]`
			if tc.want {
				want = `["object",true,1]`
			}
			wantValue(t, exec(h, `return [typeof Notes, "Notes" in globalThis, Object.keys(namespaces).length]`), want)
			if got := len(h.Catalog(host.Session{}).Namespaces()) == 1; got != tc.want {
				t.Errorf("Namespaces() lists it: %v, want %v", got, tc.want)
			}
		})
	}
}

// TestNamespaceCallsReachTheOwnersTool: of two tools with one name, a namespace
// calls its own plugin's.
func TestNamespaceCallsReachTheOwnersTool(t *testing.T) {
	t.Parallel()
	mine := owned("get", "notes")
	mine.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage(`"mine"`), nil
	}
	theirs := owned("get", "thief")
	theirs.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage(`"theirs"`), nil
	}
	h := start(t, host.Config{Tools: []catalog.Tool{theirs, mine}, Namespaces: []namespaces.Registration{notes("get")}})
	wantValue(t, exec(h, `return await Notes.get()`), `"mine"`)
}

// TestBadScopes: a scope that is refused breaks the cells that touch it, with an
// error they can catch, and no others.
func TestBadScopes(t *testing.T) {
	t.Parallel()
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	for _, tc := range []struct {
		name  string
		scope any
		err   error
		say   string
	}{
		{"raw function", map[string]any{"list": func() {}}, nil, "function"},
		{"cycle", cyclic, nil, "self"},
		{"prototype key", map[string]any{"__proto__": 1}, nil, "__proto__"},
		{"empty key", map[string]any{"": 1}, nil, "key"},
		{"undeclared target", map[string]any{"x": namespaces.Call{Tool: "other"}}, nil, "other"},
		{"not an object", 7, nil, "object"},
		{"createScope fails", nil, errors.New("no database"), "no database"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			reg := notes("notes_get")
			reg.CreateScope = func(context.Context, namespaces.RunContext) (any, error) { return tc.scope, tc.err }
			h := start(t, host.Config{
				Tools:      []catalog.Tool{owned("notes_get", "notes"), owned("other", "notes")},
				Namespaces: []namespaces.Registration{reg},
			})
			wantValue(t, exec(h, `return 1`), `1`)
			r := exec(h, `try { return Notes.list } catch (e) { return e.message }`)
			if r.Status != host.StatusCompleted || !strings.Contains(string(r.Value), tc.say) || !strings.Contains(string(r.Value), "notes") {
				t.Errorf("got %s, want a message that names the plugin and %q", show(r), tc.say)
			}
		})
	}
}

// TestScopeThatNeverComes: a namespace that does not answer fails the cells that
// touch it, in time for them to handle that.
func TestScopeThatNeverComes(t *testing.T) {
	t.Parallel()
	reg := notes("notes_get")
	let := make(chan struct{})
	defer close(let)
	reg.CreateScope = func(context.Context, namespaces.RunContext) (any, error) {
		<-let // deaf to its context
		return nil, nil
	}
	h := start(t, host.Config{Tools: []catalog.Tool{owned("notes_get", "notes")}, Namespaces: []namespaces.Registration{reg}})
	r := h.Exec(context.Background(), me, host.ExecInput{Timeout: 4 * soon, Code: `try { return Notes.list } catch (e) { return e.message }`})
	if r.Status != host.StatusCompleted || !strings.Contains(string(r.Value), "in time") {
		t.Errorf("got %s, want the guest to catch it", show(r))
	}
}

func TestEmbeddersNamespacesAreChecked(t *testing.T) {
	t.Parallel()
	reg := notes("x")
	reg.GlobalName = "tools"
	h, err := host.New(context.Background(), host.Config{Namespaces: []namespaces.Registration{reg}})
	if !errors.Is(err, namespaces.ReservedGlobal) {
		t.Errorf("New: %v, want a reserved global refused", err)
	}
	if err == nil {
		t.Error(h.Close())
	}
}

// TestMappingByFunction asks the namespace's own function for the input.
func TestMappingByFunction(t *testing.T) {
	t.Parallel()
	reg := notes("notes_get")
	reg.CreateScope = func(context.Context, namespaces.RunContext) (any, error) {
		return map[string]any{"get": namespaces.Call{Tool: "notes_get", Mapping: namespaces.Mapping{Kind: namespaces.MapFunction, Mapper: "m"}}}, nil
	}
	reg.MapInput = func(_ context.Context, rc namespaces.RunContext, mapper string, args []json.RawMessage) (json.RawMessage, error) {
		if string(args[0]) == `"bad"` {
			return nil, errors.New("I do not map bad")
		}
		return json.RawMessage(`{"mapper":"` + mapper + `","by":"` + rc.SessionID + `","first":` + string(args[0]) + `}`), nil
	}
	h := start(t, host.Config{Tools: []catalog.Tool{owned("notes_get", "notes")}, Namespaces: []namespaces.Registration{reg}})
	wantValue(t, exec(h, `return await Notes.get(5)`), `{"mapper":"m","by":"session","first":5}`)
	wantValue(t, exec(h, `try { await Notes.get("bad") } catch (e) { return e.message }`), `"Notes.get: I do not map bad"`)
}

// TestAScopeKnowsRunAndTurn: runId is the run of code mode, turnId the agent's turn.
func TestAScopeKnowsRunAndTurn(t *testing.T) {
	t.Parallel()
	got := make(chan namespaces.RunContext, 1)
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}, Namespaces: []namespaces.Registration{{
		ID: "who", PluginID: "core", GlobalName: "Who", Description: "Who.", RequiredTools: []string{"echo"},
		CreateScope: func(_ context.Context, rc namespaces.RunContext) (any, error) {
			got <- rc
			return namespaces.Serialize(map[string]any{"echo": namespaces.Call{Tool: "echo"}}, namespaces.Limits{})
		},
	}}})
	r := exec(h, `await Who.echo({}); await yield_control()`)
	id := wantWaiting(t, r, codemode.ReasonYield)
	if rc := <-got; rc.RunID != id || rc.TurnID != me.TurnID {
		t.Errorf("got %+v, want the run %s and the turn %s", rc, id, me.TurnID)
	}
}
