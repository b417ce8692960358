package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/trajectory/tracing"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// collector takes spans over OTLP/HTTP, as a real one does.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		var req collectorpb.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(b, &req)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("the collector got %s: %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, rs := range req.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// provider makes a tracer provider from the environment, and what sends all it has.
func provider(t *testing.T, c *collector) (trace.TracerProvider, func()) {
	for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		t.Setenv(name, "")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	p, err := tracing.FromEnvironment(context.Background(), tracing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p.TracerProvider(), func() {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// attributes of a span, by name.
func attributes(s *tracepb.Span) map[string]string {
	out := map[string]string{}
	for _, a := range s.Attributes {
		out[a.Key] = a.Value.GetStringValue()
	}
	return out
}

// shape lists spans as "name < parent", in the order of their start.
func shape(spans []*tracepb.Span) []string {
	names := map[string]string{}
	for _, s := range spans {
		names[string(s.SpanId)] = s.Name
	}
	var out []string
	for _, s := range spans {
		line := s.Name
		if len(s.ParentSpanId) > 0 {
			line += " < " + names[string(s.ParentSpanId)]
		}
		out = append(out, line)
	}
	return out
}

// TestSpans sends a run over exec, a restart and wait to a collector: every nested
// call is under the exec or wait that made it, that under the caller's span, and all
// of it in one trace.
func TestSpans(t *testing.T) {
	hosttest.Serial(t, "it sets the environment")
	c := newCollector(t)
	tp, flush := provider(t, c)
	inTool := make(chan trace.SpanContext, 10)
	tools := func() []catalog.Tool {
		seen := echo("login")
		seen.Invoke = func(ctx context.Context, in catalog.Invocation) (json.RawMessage, error) {
			inTool <- trace.SpanContextFromContext(ctx)
			return in.Input, nil
		}
		bad := echo("fail")
		bad.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			return nil, errors.New("hunter2 is wrong")
		}
		return []catalog.Tool{seen, bad}
	}
	dir := mkdir(t)
	first := start(t, host.Config{TracerProvider: tp, Trajectory: host.TrajectoryConfig{Bodies: &redact.Redactor{}}, Store: openState(t, dir), Tools: tools()})
	ctx, caller := tp.Tracer("gateway").Start(host.WithToolCallID(context.Background(), "toolu_1"), "turn")
	id := wantWaiting(t, first.Exec(ctx, me, host.ExecInput{Code: `
await tools.login({password: "hunter2"});
try { await tools.fail({}) } catch {}
await yield_control();
return await tools.login({n: 2})`}), codemode.ReasonYield)
	caller.End()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, host.Config{TracerProvider: tp, Store: openState(t, dir), Tools: tools()})
	wantValue(t, second.Wait(modelCall("toolu_2"), me, id), `{"n":2}`)
	wantFailure(t, second.Wait(modelCall("toolu_3"), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	flush()

	engine := second.Guests().Engine.ID
	byName := map[string][]*tracepb.Span{}
	for _, s := range c.spans {
		byName[s.Name] = append(byName[s.Name], s)
		if strings.Contains(s.String(), "hunter2") {
			t.Errorf("a span holds an input or a message: %s", s)
		}
	}
	turn, exec, logins, fail, waits := byName["turn"][0], byName["execute_tool exec"][0], byName["execute_tool login"], byName["execute_tool fail"][0], byName["execute_tool wait"]
	if len(c.spans) != 7 || len(logins) != 2 || len(waits) != 2 {
		t.Fatalf("spans %q", shape(c.spans))
	}
	wait, refused := waits[0], waits[1]
	if attributes(wait)["quoin.run.status"] != "completed" {
		wait, refused = refused, wait
	}
	for _, l := range []struct{ child, parent *tracepb.Span }{{exec, turn}, {logins[0], exec}, {fail, exec}, {wait, exec}, {logins[1], wait}} {
		if string(l.child.ParentSpanId) != string(l.parent.SpanId) || string(l.child.TraceId) != string(turn.TraceId) {
			t.Errorf("%s is not under %s: %q", l.child.Name, l.parent.Name, shape(c.spans))
		}
	}
	for _, s := range logins {
		seen := <-inTool
		if id := seen.SpanID(); string(s.SpanId) != string(id[:]) {
			t.Errorf("the tool saw span %s", seen.SpanID())
		}
	}
	common := map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": "session", "gen_ai.agent.id": "agent", "quoin.run.id": id}
	want := func(s *tracepb.Span, more map[string]string) {
		t.Helper()
		got := attributes(s)
		delete(got, "quoin.tool.input_bytes")
		delete(got, "quoin.tool.output_bytes")
		for k, v := range common {
			more[k] = v
		}
		if d := cmp.Diff(more, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", s.Name, d)
		}
	}
	want(exec, map[string]string{"gen_ai.tool.name": "exec", "gen_ai.tool.type": "function", "gen_ai.tool.call.id": "toolu_1",
		"quoin.parent.call.id": "toolu_1", "quoin.run.status": "waiting", "quoin.run.reason": "yield", "quoin.run.engine": engine})
	want(wait, map[string]string{"gen_ai.tool.name": "wait", "gen_ai.tool.type": "function", "gen_ai.tool.call.id": "toolu_2",
		"quoin.parent.call.id": "toolu_1", "quoin.run.status": "completed", "quoin.run.engine": engine})
	want(logins[1], map[string]string{"gen_ai.tool.name": "login", "gen_ai.tool.type": "extension", "gen_ai.tool.call.id": "bridge:call:4",
		"quoin.parent.call.id": "toolu_1", "quoin.tool.id": "quoin:core:login", "quoin.tool.owner": "core"})
	want(fail, map[string]string{"gen_ai.tool.name": "fail", "gen_ai.tool.type": "extension", "gen_ai.tool.call.id": "bridge:call:2",
		"quoin.parent.call.id": "toolu_1", "quoin.tool.id": "quoin:core:fail", "quoin.tool.owner": "core", "error.type": "tool_error"})
	if fail.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || attributes(refused)["error.type"] != "invalid_input" || refused.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("failures: %s\n%s", fail, refused)
	}
}
