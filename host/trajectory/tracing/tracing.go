package tracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The environment variables that are read here; the SDK reads the others.
const (
	envDisabled       = "OTEL_SDK_DISABLED"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
)

// The exporters.
const (
	exporterOTLP    = "otlp"
	exporterConsole = "console"
	exporterNone    = "none"

	protocolHTTP = "http/protobuf"
)

// Options say what the environment does not.
type Options struct {
	// Version is the version of the service. Optional.
	Version string
	// Console is where the exporter console writes. Defaults to os.Stderr.
	Console io.Writer
	// Logger is told of spans that could not be exported. Defaults to slog.Default.
	Logger *slog.Logger
}

// Provider exports spans. A nil *Provider is one without traces.
type Provider struct{ sdk *sdk.TracerProvider }

// FromEnvironment makes the provider that the environment asks for, nil if it does
// not ask for one. It does not connect to anything yet. A value that it does not know is an
// error that names the accepted ones.
func FromEnvironment(ctx context.Context, o Options) (*Provider, error) {
	names, err := exporters(os.Getenv)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	res, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "quoin"), attribute.String("service.version", o.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	opts := []sdk.TracerProviderOption{sdk.WithResource(res)}
	for _, name := range names {
		e, err := open(ctx, name, o)
		if err != nil {
			return nil, fmt.Errorf("trace exporter %s: %w", name, err)
		}
		opts = append(opts, sdk.WithBatcher(&logged{e, name, o.Logger}))
	}
	return &Provider{sdk.NewTracerProvider(opts...)}, nil
}

// TracerProvider is what goes into host.Config; nil for a nil Provider.
func (p *Provider) TracerProvider() trace.TracerProvider {
	if p == nil {
		return nil
	}
	return p.sdk
}

// Shutdown exports what is left, for as long as ctx lasts. Call it after the host
// has closed.
func (p *Provider) Shutdown(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.sdk.Shutdown(ctx)
}

// exporters lists what the environment asks for.
func exporters(getenv func(string) string) ([]string, error) {
	if strings.EqualFold(strings.TrimSpace(getenv(envDisabled)), "true") {
		return nil, nil
	}
	asked := getenv(envExporter)
	if asked == "" {
		if cmp.Or(getenv(envTracesEndpoint), getenv(envEndpoint)) == "" {
			return nil, nil
		}
		asked = exporterOTLP
	}
	var names []string
	for _, name := range strings.Split(asked, ",") {
		switch name = strings.TrimSpace(name); {
		case name == exporterNone, slices.Contains(names, name):
		case name == exporterOTLP, name == exporterConsole:
			names = append(names, name)
		default:
			return nil, fmt.Errorf("%s is %q, expected %s, %s or %s", envExporter, asked, exporterOTLP, exporterConsole, exporterNone)
		}
	}
	if p := cmp.Or(getenv(envTracesProtocol), getenv(envProtocol), protocolHTTP); p != protocolHTTP && slices.Contains(names, exporterOTLP) {
		return nil, fmt.Errorf("%s is %q, expected %s: collectors take it on port 4318", envProtocol, p, protocolHTTP)
	}
	return names, nil
}

func open(ctx context.Context, name string, o Options) (sdk.SpanExporter, error) {
	if name == exporterOTLP {
		return otlptracehttp.New(ctx)
	}
	if o.Console == nil {
		o.Console = os.Stderr
	}
	return stdouttrace.New(stdouttrace.WithWriter(o.Console))
}

// logged is an exporter that writes failures to our log rather than to the process-wide
// handler of OpenTelemetry, which is not ours to set.
type logged struct {
	sdk.SpanExporter
	name string
	log  *slog.Logger
}

// ExportSpans implements sdk.SpanExporter.
func (l *logged) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := l.SpanExporter.ExportSpans(ctx, spans)
	if err != nil && !errors.Is(err, context.Canceled) {
		l.log.Warn("spans were not exported and are lost", "exporter", l.name, "spans", len(spans), "error", err)
	}
	return nil
}
