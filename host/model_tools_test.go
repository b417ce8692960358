package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/hosttest"
)

func surface(t *testing.T, h *host.Host, tools []catalog.Tool, o host.ModelToolsOptions) *host.ModelTools {
	t.Helper()
	s, err := h.ModelTools(context.Background(), me, tools, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func direct(name string) catalog.Tool {
	tool := echo(name)
	tool.DirectOnly = true
	return tool
}

// call answers a model's call of exec or wait with the full Result.
func call(t *testing.T, s *host.ModelTools, name, arguments string) *host.Result {
	t.Helper()
	if name == modeltools.Wait {
		id, err := host.ParseWait([]byte(arguments))
		if err != nil {
			return codemode.Failed(err)
		}
		return s.Wait(context.Background(), id)
	}
	in, err := host.ParseExec([]byte(arguments))
	if err != nil {
		return codemode.Failed(err)
	}
	return s.Exec(context.Background(), in)
}

// TestSurface is the table of what a model is shown.
func TestSurface(t *testing.T) {
	t.Parallel()
	ordinary := []catalog.Tool{echo("read"), echo("write")}
	many, large := make([]catalog.Tool, 30), make([]catalog.Tool, 10)
	for i := range many {
		many[i] = echo(fmt.Sprintf("tool_%d", i))
	}
	for i := range large {
		large[i] = echo(fmt.Sprintf("tool_%d", i))
		large[i].Description = strings.Repeat("What it does. ", 200)
	}
	control := []catalog.Tool{echo("tool_search_code"), echo("tool_search"), echo("tool_describe"), echo("tool_call")}
	models := map[string]codemode.Activation{"*": codemode.ActivationAuto, "big/*": codemode.ActivationOn, "big/no": codemode.ActivationOff, "small*": codemode.ActivationOff}
	for _, tc := range []struct {
		name     string
		settings host.Settings
		own      []catalog.Tool
		tools    []catalog.Tool
		options  host.ModelToolsOptions
		want     string // "" means unchanged
	}{
		{name: "on", tools: ordinary, want: "exec wait"},
		{name: "off", settings: host.Settings{Disabled: true}, tools: ordinary},
		{name: "off, with control tools", settings: host.Settings{Disabled: true}, tools: control},
		{name: "no tools"},
		{name: "disableTools", tools: ordinary, options: host.ModelToolsOptions{DisableTools: true}},
		{name: "empty allow list", tools: ordinary, options: host.ModelToolsOptions{Rules: policy.Rules{Allow: []string{}}}},
		{name: "everything denied", tools: ordinary, options: host.ModelToolsOptions{Rules: policy.Rules{Deny: []string{"*"}}}},
		{name: "control tools alone are no tools", tools: control},
		{name: "control tools are hidden", tools: append(control, ordinary...), want: "exec wait"},
		{name: "direct-only tools stay", tools: append([]catalog.Tool{direct("screenshot")}, ordinary...), want: "exec wait screenshot"},
		{name: "direct-only tools of the host", own: []catalog.Tool{direct("camera"), echo("read")}, tools: ordinary, want: "exec wait camera"},
		{name: "a direct-only tool that is denied", tools: append([]catalog.Tool{direct("screenshot")}, ordinary...), options: host.ModelToolsOptions{Rules: policy.Rules{Deny: []string{"screen*"}}}, want: "exec wait"},
		{name: "tools of the host alone", own: ordinary, want: "exec wait"},
		{name: "a shell named exec", tools: []catalog.Tool{echo("exec")}, want: "exec wait"},
		{name: "a model that is on", settings: host.Settings{Models: models}, tools: ordinary, options: host.ModelToolsOptions{Model: "big/one"}, want: "exec wait"},
		{name: "a model that is off", settings: host.Settings{Models: models}, tools: many, options: host.ModelToolsOptions{Model: "big/no"}},
		{name: "the most exact pattern counts", settings: host.Settings{Models: models}, tools: many, options: host.ModelToolsOptions{Model: "small-7b"}},
		{name: "auto with few tools", settings: host.Settings{Models: models}, tools: ordinary, options: host.ModelToolsOptions{Model: "other"}},
		{name: "auto with many small tools", settings: host.Settings{Models: models}, tools: many, options: host.ModelToolsOptions{Model: "other"}},
		{name: "auto with ten large tools", settings: host.Settings{Models: models}, tools: large, options: host.ModelToolsOptions{Model: "other"}, want: "exec wait"},
		{name: "auto in a wider window", settings: host.Settings{Models: models}, tools: large, options: host.ModelToolsOptions{Model: "other", Window: 1_000_000}},
		{name: "auto with another share", settings: host.Settings{Models: models, AutoShare: 50}, tools: large, options: host.ModelToolsOptions{Model: "other"}},
		{name: "auto with a window of the settings", settings: host.Settings{Models: models, ContextWindow: 1_000_000}, tools: large, options: host.ModelToolsOptions{Model: "other"}},
		{name: "a model without entry", settings: host.Settings{Models: map[string]codemode.Activation{"a": codemode.ActivationOff}}, tools: ordinary, options: host.ModelToolsOptions{Model: "b"}, want: "exec wait"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := start(t, host.Config{Settings: tc.settings, Tools: tc.own})
			s := surface(t, h, tc.tools, tc.options)
			if got := strings.Join(s.Names(), " "); tc.want != "" && got != tc.want {
				t.Fatalf("shown %s, want %s", got, tc.want)
			}
			if s.Active != (tc.want != "") {
				t.Errorf("active is %v", s.Active)
			}
			if tc.want == "" {
				if d := cmp.Diff(names(tc.tools), s.Names()); d != "" {
					t.Errorf("tools changed (-want +got):\n%s", d)
				}
				if err := s.VerifyPayload([]string{"anything"}); err != nil {
					t.Errorf("a payload is enforced: %v", err)
				}
				wantFailure(t, s.Exec(context.Background(), host.ExecInput{Code: "return 1"}), codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput)
				wantFailure(t, s.Wait(context.Background(), "run_1"), codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput)
			}
		})
	}
}

func names(tools []catalog.Tool) []string {
	out := make([]string, len(tools))
	for i := range tools {
		out[i] = tools[i].Name
	}
	return out
}

// TestSurfaceRuns: what the model no longer sees, its programs can call, under the
// ids that the tools have.
func TestSurfaceRuns(t *testing.T) {
	t.Parallel()
	client := echo("select_file")
	client.Source = catalog.SourceClient
	h := start(t, host.Config{Tools: []catalog.Tool{echo("read"), {Name: "shared", Invoke: echo("").Invoke, Description: "The host's."}}})
	s := surface(t, h, []catalog.Tool{echo("exec"), client, {Name: "shared", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage(`"the request's"`), nil
	}}, direct("screenshot"), echo("tool_call")}, host.ModelToolsOptions{})

	r := call(t, s, "exec", `{"code":"return ALL_TOOLS.map((t) => t.id)"}`)
	wantValue(t, r, `["quoin:core:exec","quoin:core:read","quoin:core:shared","client:client:select_file"]`)
	if d := cmp.Diff([]string{"exec", "wait", "screenshot"}, r.Telemetry.VisibleTools); d != "" {
		t.Errorf("telemetry (-want +got):\n%s", d)
	}
	wantValue(t, call(t, s, "exec", `{"code":"return [await tools.exec({a:1}), await tools.call('quoin:core:exec', {a:2}), await tools.select_file({b:1}), await tools.shared({})]"}`),
		`[{"a":1},{"a":2},{"b":1},"the request's"]`)
	for _, hidden := range []string{"screenshot", "tool_call", "wait"} {
		r := call(t, s, "exec", `{"code":"return await tools.call('`+hidden+`', {}).catch((e) => e.code)"}`)
		wantValue(t, r, `"unknown_tool"`)
	}
	id := wantWaiting(t, call(t, s, "exec", `{"code":"await yield_control(); return await tools.shared({})"}`), codemode.ReasonYield)
	wantValue(t, call(t, s, "wait", `{"runId":"`+id+`"}`), `"the request's"`)
	wantFailure(t, call(t, s, "exec", `{"script":"return 1"}`), codemode.CodeInvalidInput, "", codemode.PhaseInput)
	wantFailure(t, call(t, s, "wait", `{}`), codemode.CodeInvalidInput, "", codemode.PhaseInput)

	// Nothing of it is there for anyone else.
	wantValue(t, exec(h, `return ALL_TOOLS.map((t) => t.name)`), `["read","shared"]`)
	wantFailure(t, s.Exec(context.Background(), host.ExecInput{Code: "return 1", Tools: []catalog.Tool{echo("x")}}), codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput)
}

// TestSurfaceResultsArePlain: what a model reads of exec and wait has no escapes
// for HTML, which would make it up to six times as long as the output limit.
func TestSurfaceResultsArePlain(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	s := surface(t, h, []catalog.Tool{echo("read")}, host.ModelToolsOptions{})
	exec, wait := s.Visible[0].Invoke, s.Visible[1].Invoke
	say := func(invoke func(context.Context, catalog.Invocation) (json.RawMessage, error), arguments string) string {
		t.Helper()
		b, err := invoke(context.Background(), catalog.Invocation{Input: json.RawMessage(arguments)})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	big := say(exec, `{"code":"return '<'.repeat(60000)"}`)
	if n := len(big); n > 64<<10 || !strings.Contains(big, strings.Repeat("<", 60000)) {
		t.Errorf("60,000 bytes of value came as %d: %.200s", n, big)
	}
	said := []string{big,
		say(exec, `{"code":"text('a<b>&'); throw new Error('<&>')"}`),
		say(exec, `{"code":"return '<&>'", "language":"<&>"}`),
		say(wait, `{"runId":"<&>"}`),
		say(wait, `{"<&>":1}`),
	}
	var waiting struct{ RunID string }
	if err := json.Unmarshal([]byte(say(exec, `{"code":"await yield_control(); return '<&>'"}`)), &waiting); err != nil {
		t.Fatal(err)
	}
	said = append(said, say(wait, `{"runId":"`+waiting.RunID+`"}`))
	for _, s := range said {
		if strings.Contains(s, `\u003`) || strings.Contains(s, `\u0026`) || !strings.Contains(s, "<") {
			t.Errorf("%.300s", s)
		}
	}
}

// TestSurfaceRulesHold: what the rules of a request deny does not exist.
func TestSurfaceRulesHold(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Rules: policy.Scopes{Agents: map[string]policy.Rules{me.AgentID: {Deny: []string{"write"}}}}})
	s := surface(t, h, []catalog.Tool{echo("read"), echo("write"), echo("remove")}, host.ModelToolsOptions{Rules: policy.Rules{Deny: []string{"remove"}}})
	wantValue(t, call(t, s, "exec", `{"code":"return ALL_TOOLS.map((t) => t.name)"}`), `["read"]`)
	if d := s.Visible[0].Description; strings.Contains(d, "tools.write") || strings.Contains(d, "tools.remove") || !strings.Contains(d, "tools.read(") {
		t.Errorf("the description shows what is denied, or not what is allowed:\n%s", d)
	}
}

// TestSurfaceOutlivesItsProcess: a run of an earlier process gets the tools of the
// request that resumes it.
func TestSurfaceOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	tools := func(answer string) []catalog.Tool {
		return []catalog.Tool{{Name: "who", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			return json.Marshal(answer)
		}}}
	}
	open := func() *host.Host {
		store := openState(t, dir)
		return start(t, host.Config{Store: store})
	}
	first := open()
	id := wantWaiting(t, surface(t, first, tools("first"), host.ModelToolsOptions{}).Exec(context.Background(), host.ExecInput{
		Code: `const a = await tools.who({}); await yield_control(); return [a, await tools.who({})]`,
	}), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	wantValue(t, surface(t, open(), tools("second"), host.ModelToolsOptions{}).Wait(context.Background(), id), `["first","second"]`)
}

func TestSurfaceRefusals(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	for _, tc := range []struct {
		name    string
		tools   []catalog.Tool
		options host.ModelToolsOptions
		want    string
	}{
		{"a direct-only tool named exec", []catalog.Tool{echo("a"), direct("exec")}, host.ModelToolsOptions{}, `named "exec"`},
		{"two direct-only tools of one name", []catalog.Tool{direct("a"), func() catalog.Tool { x := direct("a"); x.Source = catalog.SourceClient; return x }()}, host.ModelToolsOptions{}, `named "a"`},
		{"a tool twice", []catalog.Tool{echo("a"), echo("a")}, host.ModelToolsOptions{}, "quoin:core:a"},
		{"a tool without Invoke", []catalog.Tool{{Name: "a"}}, host.ModelToolsOptions{}, "no Invoke"},
		{"a plugin's owner", []catalog.Tool{{Name: "a", Owner: "calendar", Invoke: echo("").Invoke}}, host.ModelToolsOptions{}, `owner "calendar"`},
		{"an invalid name", []catalog.Tool{echo(" a")}, host.ModelToolsOptions{}, "name"},
		{"an invalid rule", []catalog.Tool{echo("a")}, host.ModelToolsOptions{Rules: policy.Rules{Deny: []string{"x:y"}}}, "rules"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := h.ModelTools(context.Background(), me, tc.tools, tc.options)
			var e *host.Error
			if s != nil || !errors.As(err, &e) || e.Code != codemode.CodeInvalidInput || !strings.Contains(e.Message, tc.want) {
				t.Errorf("got %v, %v; want invalid_input saying %q", s, err, tc.want)
			}
		})
	}
}

// TestSurfaceFailsClosed: without a guest there are no tools at all.
func TestSurfaceFailsClosed(t *testing.T) {
	t.Parallel()
	unavailable := &host.Error{Code: codemode.CodeUnavailable}
	var none *host.Host
	if s, err := none.ModelTools(context.Background(), me, []catalog.Tool{echo("a")}, host.ModelToolsOptions{}); s != nil || !errors.Is(err, unavailable) {
		t.Errorf("no host: %v, %v", s, err)
	}
	h := start(t, host.Config{})
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := h.ModelTools(context.Background(), me, []catalog.Tool{echo("a")}, host.ModelToolsOptions{}); s != nil || !errors.Is(err, unavailable) {
		t.Errorf("a closed host: %v, %v", s, err)
	}
	if h, err := host.New(context.Background(), host.Config{Guests: host.GuestConfig{Path: filepath.Join(t.TempDir(), "none")}}); h != nil || err == nil {
		t.Errorf("a host without a guest: %v, %v", h, err)
	}
}

func TestVerifyPayload(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	s := surface(t, h, []catalog.Tool{echo("read"), direct("screenshot")}, host.ModelToolsOptions{})
	for _, tc := range []struct {
		names string
		fine  bool
	}{
		{"exec wait screenshot", true},
		{"screenshot wait exec", true},
		{"exec wait", false},
		{"exec wait screenshot read", false},
		{"exec wait screenshot screenshot", false},
		{"exec exec wait screenshot", false},
		{"read", false},
		{"", false},
		{"Exec wait screenshot", false},
	} {
		err := s.VerifyPayload(strings.Fields(tc.names))
		if (err == nil) != tc.fine || err != nil && !errors.Is(err, &host.Error{Code: codemode.CodeInternal}) {
			t.Errorf("%q: %v", tc.names, err)
		}
	}
}

func TestVerifyRequest(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	s := surface(t, h, []catalog.Tool{echo("read"), direct("screenshot")}, host.ModelToolsOptions{})
	for _, p := range modeltools.Providers() {
		tools, err := modeltools.Render(p, s.Visible)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.VerifyRequest(p, []byte(`{"model":"m","tools":`+string(tools)+`}`)); err != nil {
			t.Errorf("%s: %v", p, err)
		}
		more, err := modeltools.Render(p, append(s.Visible, echo("read")))
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{`{"tools":` + string(more) + `}`, `{}`, `{"tools":{}}`, ``, `{"tools":[{"type":"web_search"}]}`} {
			if err := s.VerifyRequest(p, []byte(body)); err == nil {
				t.Errorf("%s: %s passed", p, body)
			}
		}
	}
	if err := s.VerifyRequest("other", []byte(`{}`)); err == nil {
		t.Error("an unknown provider passed")
	}
}

// TestPayloadIsLogged: what is about to be sent shows up where it is asked for.
func TestPayloadIsLogged(t *testing.T) {
	hosttest.Serial(t, "it sets the environment")
	t.Setenv("QUOIN_DEBUG_MODEL_PAYLOAD", "full-redacted")
	var log lockedBuffer
	h := start(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	s := surface(t, h, []catalog.Tool{echo("read")}, host.ModelToolsOptions{})
	if err := s.VerifyRequest(modeltools.ProviderOpenAI, []byte(`{"apiKey":"hunter2","tools":[{"type":"function","function":{"name":"read"}}]}`)); err == nil {
		t.Error("passed")
	}
	if got := log.String(); !strings.Contains(got, "tools=[read]") || strings.Contains(got, "hunter2") {
		t.Errorf("log:\n%s", got)
	}
}

// lockedBuffer is a bytes.Buffer for several writers.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
