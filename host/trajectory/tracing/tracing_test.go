package tracing_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/quoinhq/quoin/host/trajectory/tracing"
)

// unset clears every variable that could be set around the test.
func unset(t *testing.T) {
	for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"} {
		t.Setenv(name, "")
	}
}

// TestEnvironment is the table of what the variables ask for.
func TestEnvironment(t *testing.T) {
	const endpoint = "http://127.0.0.1:1"
	for _, c := range []struct {
		name   string
		env    map[string]string
		traces bool
		err    string
	}{
		{"nothing", nil, false, ""},
		{"an endpoint", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, true, ""},
		{"an endpoint for traces", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint}, true, ""},
		{"the SDK is disabled", map[string]string{"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, false, ""},
		{"an exporter alone", map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{"none", map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, false, ""},
		{"several", map[string]string{"OTEL_TRACES_EXPORTER": "otlp, console"}, true, ""},
		{"an unknown exporter", map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, `OTEL_TRACES_EXPORTER is "zipkin", expected otlp, console or none`},
		{"an unknown protocol", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false,
			`OTEL_EXPORTER_OTLP_PROTOCOL is "grpc", expected http/protobuf: collectors take it on port 4318`},
		{"a protocol of no exporter", map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			unset(t)
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			p, err := tracing.FromEnvironment(context.Background(), tracing.Options{Console: io.Discard})
			if c.err != "" && (err == nil || err.Error() != c.err) || c.err == "" && err != nil {
				t.Fatalf("got %v, want %s", err, c.err)
			}
			if got := p.TracerProvider() != nil; got != c.traces {
				t.Errorf("traces: %v", got)
			}
			if err := p.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSpansReachACollector sends a span over OTLP.
func TestSpansReachACollector(t *testing.T) {
	unset(t)
	got := make(chan *collector.ExportTraceServiceRequest, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		var req collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(b, &req)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		got <- &req
	}))
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment=test")
	p, err := tracing.FromEnvironment(context.Background(), tracing.Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	_, span := p.TracerProvider().Tracer("test").Start(context.Background(), "hello")
	span.End()
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	req := <-got
	if name := req.ResourceSpans[0].ScopeSpans[0].Spans[0].Name; name != "hello" {
		t.Errorf("span %q", name)
	}
	resource := req.ResourceSpans[0].Resource.String()
	for _, part := range []string{"service.name", `"quoin"`, `"1.2.3"`, "deployment"} {
		if !strings.Contains(resource, part) {
			t.Errorf("%s is missing in %s", part, resource)
		}
	}
}

// TestALostCollectorIsLogged exports to an address where nothing listens.
func TestALostCollectorIsLogged(t *testing.T) {
	unset(t)
	srv := httptest.NewServer(http.NotFoundHandler()) // which is no reason to try again
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", srv.URL+"/elsewhere")
	var log bytes.Buffer
	p, err := tracing.FromEnvironment(context.Background(), tracing.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	_, span := p.TracerProvider().Tracer("test").Start(context.Background(), "hello")
	span.End()
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "spans were not exported and are lost") {
		t.Errorf("log: %s", log.String())
	}
}
