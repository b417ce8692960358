package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func newPlugin() *sdk.Plugin {
	return sdk.New(sdk.Info{ID: "test", Version: "1.0.0"}, &sdk.Options{Logger: slog.New(slog.DiscardHandler)})
}

func describe(name string) sdk.Tool { return sdk.Tool{Name: name, Description: "Does " + name + "."} }

// returning is a handler that ignores its input.
func returning[In, Out any](v Out) sdk.Handler[In, Out] {
	return func(context.Context, *sdk.Call, In) (Out, error) { return v, nil }
}

type none struct{}

type searchInput struct {
	Query  string   `json:"query" jsonschema:"words to look for" min:"1"`
	State  string   `json:"state,omitempty" enum:"open,closed" default:"open"`
	Limit  int      `json:"limit,omitempty" min:"1" max:"50" default:"20"`
	Labels []string `json:"labels,omitempty" enum:"bug,feature"`
	Since  *string  `json:"since,omitempty"`
}

type issue struct {
	ID     int64             `json:"id"`
	Labels []string          `json:"labels"`
	Meta   map[string]string `json:"meta"`
	Parent *issueRef         `json:"parent"`
	Opened time.Time         `json:"opened"`
}

type issueRef struct {
	ID int64 `json:"id"`
}

func wantError(t *testing.T, err error, kind protocol.Kind, code string, parts ...string) {
	t.Helper()
	var e *protocol.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T (%v), want a *protocol.Error", err, err)
	}
	if e.Kind != kind || e.Code != code {
		t.Errorf("got kind %v, code %q (%s), want %v, %q", e.Kind, e.Code, e.Message, kind, code)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Errorf("%q does not say %q", e.Message, part)
		}
	}
}

func TestSchemasGolden(t *testing.T) {
	p := newPlugin()
	sdk.AddTool(p, describe("search"), returning[searchInput]([]issue(nil)))
	sdk.AddTool(p, describe("anything"), returning[map[string]any](any(1)))
	sdk.AddTool(p, describe("nothing"), returning[none](none{}))
	var b strings.Builder
	for _, tool := range sdktest.Start(t, p, nil).Describe().Tools {
		fmt.Fprintf(&b, "%s\nin  %s\nout %s\n", tool.Name, tool.Parameters, tool.Output)
	}
	path := filepath.Join("testdata", "schemas.golden")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), b.String()); diff != "" {
		t.Errorf("schemas changed (-golden +got):\n%s", diff)
	}
}

func TestInputIsCheckedInWordsForTheModel(t *testing.T) {
	p := newPlugin()
	sdk.AddTool(p, describe("search"), func(_ context.Context, _ *sdk.Call, in searchInput) (searchInput, error) { return in, nil })
	h := sdktest.Start(t, p, nil)
	tests := []struct {
		input string
		parts []string
	}{
		{`{}`, []string{"search: query: missing, expected string", "The input is {query: string, state?: one of"}},
		{`{"query": 5}`, []string{"query: expected string, got 5"}},
		{`{"query": null}`, []string{"query: expected string, got null"}},
		{`{"query": ""}`, []string{"query: expected at least 1 characters, got 0"}},
		{`{"query": "a", "querry": "b"}`, []string{`querry: unknown field, did you mean "query"?`}},
		{`{"query": "a", "Limit": 1}`, []string{`Limit: unknown field, did you mean "limit"?`}},
		{`{"query": "a", "xyzzy": 1}`, []string{`xyzzy: unknown field. The input`}},
		{`{"query": "a", "limit": 51}`, []string{"limit: expected at most 50, got 51"}},
		{`{"query": "a", "limit": 1.5}`, []string{"limit: expected integer, got 1.5"}},
		{`{"query": "a", "state": "done"}`, []string{`state: expected one of "open", "closed", got "done"`}},
		{`{"query": "a", "labels": "bug"}`, []string{`labels: expected array of one of "bug", "feature", got "bug"`}},
		{`{"query": "a", "labels": ["bug", 7]}`, []string{`labels[1]: expected one of "bug", "feature", got 7`}},
		{`["a"]`, []string{`the input must be an object, got ["a"]`}},
		{`null`, []string{"the input must be an object, got null"}},
		{`{"query": "` + strings.Repeat("x", 10) + `", "labels": {"a": "` + strings.Repeat("y", 500) + `"}}`, []string{"…"}},
	}
	for _, tt := range tests {
		_, err := h.Call("search", json.RawMessage(tt.input))
		wantError(t, err, protocol.KindInput, protocol.CodeInvalidInput, tt.parts...)
	}
	got, err := h.Call("search", json.RawMessage(`{"query": "a"}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != `{"query":"a","state":"open","limit":20}` {
		t.Errorf("defaults: %s", got)
	}
}

func TestLargeNumbersKeepTheirDigits(t *testing.T) {
	type in struct {
		ID    int64 `json:"id"`
		Limit int   `json:"limit,omitempty" default:"3"`
	}
	p := newPlugin()
	sdk.AddTool(p, describe("get"), func(_ context.Context, _ *sdk.Call, v in) (in, error) { return v, nil })
	got, err := sdktest.Start(t, p, nil).Call("get", json.RawMessage(`{"id": 9007199254740993}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != `{"id":9007199254740993,"limit":3}` {
		t.Errorf("got %s", got)
	}
}

func TestNilSlicesAndMapsBecomeEmpty(t *testing.T) {
	p := newPlugin()
	sdk.AddTool(p, describe("list"), returning[none]([]issue{{ID: 9007199254740993}}))
	sdk.AddTool(p, describe("empty"), returning[none]([]issue(nil)))
	h := sdktest.Start(t, p, nil)
	got, err := h.Call("list", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"id":9007199254740993,"labels":[],"meta":{},"opened":"0001-01-01T00:00:00Z","parent":null}]`; string(got) != want {
		t.Errorf("got %s", got)
	}
	if got, err := h.Call("empty", nil); err != nil || string(got) != `[]` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestErrorsReachTheModel(t *testing.T) {
	p := newPlugin()
	fail := func(name string, err error) { sdk.AddTool(p, describe(name), failing(err)) }
	fail("coded", sdk.Errorf("not_found", "there is no issue %d", 7))
	fail("wrapped", fmt.Errorf("outer: %w", sdk.Errorf("busy", "try later")))
	fail("plain", errors.New("disk full"))
	fail("detailed", &sdk.Error{Message: "m", Details: map[string]int{"a": 1}})
	fail("undetailed", &sdk.Error{Code: "c", Message: "m", Details: func() {}})
	sdk.AddTool(p, describe("panics"), func(context.Context, *sdk.Call, none) (none, error) { panic("boom") })
	sdk.AddTool(p, describe("unencodable"), returning[none](any(func() {})))
	h := sdktest.Start(t, p, nil)
	tests := []struct {
		tool string
		kind protocol.Kind
		code string
		says string
	}{
		{"coded", protocol.KindTool, "not_found", "there is no issue 7"},
		{"wrapped", protocol.KindTool, "busy", "try later"},
		{"plain", protocol.KindTool, "tool_error", "disk full"},
		{"detailed", protocol.KindTool, "tool_error", "m"},
		{"undetailed", protocol.KindTool, "c", "details left out"},
		{"panics", protocol.KindPlugin, "plugin_panic", "plugin test: tool panics panicked: boom"},
		{"unencodable", protocol.KindPlugin, "invalid_output", "tool unencodable"},
		{"unknown", protocol.KindInput, "unknown_tool", `no tool "unknown"`},
	}
	for _, tt := range tests {
		t.Run(tt.tool, func(t *testing.T) {
			_, err := h.Call(tt.tool, nil)
			wantError(t, err, tt.kind, tt.code, tt.says)
		})
	}
	_, err := h.Call("detailed", nil)
	if got := string(protocol.AsError(err).Details); got != `{"a":1}` {
		t.Errorf("details %s", got)
	}
}

func failing(err error) sdk.Handler[none, none] {
	return func(context.Context, *sdk.Call, none) (none, error) { return none{}, err }
}

func TestCallKnowsItsRun(t *testing.T) {
	type seen struct {
		Run        sdk.RunContext `json:"run"`
		ID, Key    string
		Tool       string
		HasLogging bool
	}
	p := newPlugin()
	sdk.AddTool(p, describe("who"), func(_ context.Context, c *sdk.Call, _ none) (seen, error) {
		return seen{c.Run, c.ID, c.IdempotencyKey, c.Tool, c.Logger != nil}, nil
	})
	rc := sdk.RunContext{AgentID: "a", SessionKey: "k", SessionID: "s", RunID: "r", Config: json.RawMessage(`{"x":1}`)}
	h := sdktest.Start(t, p, &sdktest.Options{Run: &rc})
	var got seen
	h.CallInto(&got, "who", nil)
	if diff := cmp.Diff(seen{rc, "call-1", got.Key, "who", true}, got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(got.Key, "call-1") || len(got.Key) < 20 {
		t.Errorf("idempotency key %q could be another harness's", got.Key)
	}
}

func TestProgressAndCancellation(t *testing.T) {
	p := newPlugin()
	ended := make(chan error, 1)
	sdk.AddTool(p, describe("work"), func(ctx context.Context, c *sdk.Call, _ none) (string, error) {
		for i := range 3 {
			if err := c.Progress(i); err != nil {
				return "", err
			}
		}
		if err := c.Progress(func() {}); err == nil {
			t.Error("a function was accepted as progress")
		}
		return "done", nil
	})
	sdk.AddTool(p, describe("wait"), func(ctx context.Context, c *sdk.Call, _ none) (none, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return none{}, ctx.Err()
	})
	h := sdktest.Start(t, p, nil)
	_, progress, err := h.CallProgress(t.Context(), "work", nil)
	if err != nil || fmt.Sprint(progress) != fmt.Sprint([]json.RawMessage{[]byte("0"), []byte("1"), []byte("2")}) {
		t.Errorf("progress %s, %v", progress, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := h.CallProgress(ctx, "wait", nil); err == nil {
		t.Error("a cancelled call returned a result")
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err = h.CallProgress(ctx, "wait", nil)
	wantError(t, err, protocol.KindTimeout, protocol.CodeTimeout)
	if err := <-ended; err == nil {
		t.Error("the tool's context did not end")
	}
}

func TestConfigureAndClose(t *testing.T) {
	type config struct {
		Token string `json:"token"`
		Size  int    `json:"size"`
	}
	var order []string
	var got config
	plugin := func() *sdk.Plugin {
		p := newPlugin()
		p.OnConfigure(func(_ context.Context, c sdk.Config) error {
			got = config{Size: 5}
			return c.Decode(&got)
		})
		p.OnClose(func() error { order = append(order, "first"); return nil })
		p.OnClose(func() error { order = append(order, "second"); return nil })
		return p
	}
	t.Run("good", func(t *testing.T) {
		sdktest.Start(t, plugin(), &sdktest.Options{Config: map[string]string{"token": "t"}})
		if got != (config{"t", 5}) {
			t.Errorf("%+v", got)
		}
	})
	if diff := cmp.Diff([]string{"second", "first"}, order); diff != "" {
		t.Error(diff)
	}
	err := sdktest.StartError(t, plugin(), &sdktest.Options{Config: map[string]string{"tokn": "t"}})
	wantError(t, err, protocol.KindPlugin, protocol.CodeConfigRefused, "plugin test", "tokn")
}

func TestRegistrationMistakes(t *testing.T) {
	ok := returning[none](none{})
	tests := []struct {
		name string
		add  func(p *sdk.Plugin) error
		says string
	}{
		{"name", func(p *sdk.Plugin) error { return second(sdk.AddToolSafely(p, describe("a:b"), ok)) }, `"a:b"`},
		{"twice", func(p *sdk.Plugin) error { return second(sdk.AddToolSafely(p, describe("taken"), ok)) }, "twice"},
		{"description", func(p *sdk.Plugin) error { return second(sdk.AddToolSafely(p, sdk.Tool{Name: "x"}, ok)) }, "no description"},
		{"handler", func(p *sdk.Plugin) error {
			return second(sdk.AddToolSafely[none, none](p, describe("x"), nil))
		}, "no handler"},
		{"input", func(p *sdk.Plugin) error {
			return second(sdk.AddToolSafely(p, describe("x"), returning[[]string](1)))
		}, "JSON object"},
		{"output", func(p *sdk.Plugin) error {
			return second(sdk.AddToolSafely(p, describe("x"), returning[none](make(chan int))))
		}, "output"},
		{"enum tag", func(p *sdk.Plugin) error {
			return second(sdk.AddToolSafely(p, describe("x"), returning[struct {
				N int `enum:"one"`
			}](1)))
		}, "N: field tag: enum"},
		{"min tag", func(p *sdk.Plugin) error {
			return second(sdk.AddToolSafely(p, describe("x"), returning[struct {
				B bool `min:"1"`
			}](1)))
		}, "numbers and strings only"},
		{"default of a required field", func(p *sdk.Plugin) error {
			return second(sdk.AddToolSafely(p, describe("x"), returning[struct {
				N int `default:"1"`
			}](1)))
		}, "omitempty"},
		{"default out of bounds", func(p *sdk.Plugin) error {
			return second(sdk.AddToolSafely(p, describe("x"), returning[struct {
				N int `json:"n,omitempty" max:"5" default:"6"`
			}](1)))
		}, "6"},
		{"example", func(p *sdk.Plugin) error {
			tool := describe("x")
			tool.Examples = []sdk.Example{{Input: map[string]int{"n": 1}}}
			return second(sdk.AddToolSafely(p, tool, ok))
		}, "example 1"},
		{"raw schema", func(p *sdk.Plugin) error {
			return second(p.AddRawToolSafely(describe("x"), sdk.RawSchemas{Input: json.RawMessage(`{"type":"array"}`)}, rawNull))
		}, `"type": "object"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlugin()
			sdk.AddTool(p, describe("taken"), ok)
			err := tt.add(p)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want one that says %q", err, tt.says)
			}
		})
	}
	defer func() {
		v := fmt.Sprint(recover())
		if !regexp.MustCompile(`^sdk: \S*sdk_test\.go:[0-9]+: tool name "" is not`).MatchString(v) {
			t.Errorf("AddTool panicked with %q", v)
		}
	}()
	sdk.AddTool(newPlugin(), sdk.Tool{}, ok)
}

func second[T any](_ T, err error) error { return err }

func rawNull(context.Context, *sdk.Call, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage("null"), nil
}

func TestRawTool(t *testing.T) {
	p := newPlugin()
	p.AddRawTool(describe("echo"), sdk.RawSchemas{
		Input: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string","pattern":"^a"}},"required":["x"]}`),
	}, func(_ context.Context, _ *sdk.Call, in json.RawMessage) (json.RawMessage, error) { return in, nil })
	p.AddRawTool(describe("broken"), sdk.RawSchemas{Input: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.Call, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage("{"), nil
		})
	p.AddRawTool(describe("bytes"), sdk.RawSchemas{Input: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.Call, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage("\"\xff\""), nil
		})
	h := sdktest.Start(t, p, nil)
	if got, err := h.Call("echo", map[string]string{"x": "abc"}); err != nil || string(got) != `{"x":"abc"}` {
		t.Errorf("%s, %v", got, err)
	}
	_, err := h.Call("echo", map[string]string{"x": "b"})
	wantError(t, err, protocol.KindInput, protocol.CodeInvalidInput, "echo", "^a")
	_, err = h.Call("broken", nil)
	wantError(t, err, protocol.KindPlugin, protocol.CodeInvalidOutput, "broken")
	_, err = h.Call("bytes", nil)
	wantError(t, err, protocol.KindPlugin, protocol.CodeInvalidOutput, "bytes", "UTF-8")
}
