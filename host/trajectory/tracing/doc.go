// Package tracing makes a tracer provider for host.Config from OpenTelemetry's
// standard environment variables. It is for programs without a provider of their own;
// those that have one give it to the host and do not link this package.
//
//	provider, err := tracing.FromEnvironment(ctx, tracing.Options{Version: version})
//	if err != nil {
//		return err
//	}
//	defer provider.Shutdown(ctx)
//	h, err := host.New(ctx, host.Config{TracerProvider: provider.TracerProvider()})
//
// Unless the environment asks for traces there is no provider, and runs cost nothing:
//
//	OTEL_SDK_DISABLED=true                  no traces, whatever else is set
//	OTEL_TRACES_EXPORTER                    otlp, console (to standard error) or none, or several with commas;
//	                                        by default otlp if one of the endpoints is set, else none
//	OTEL_EXPORTER_OTLP_TRACES_ENDPOINT      where to send traces, or:
//	OTEL_EXPORTER_OTLP_ENDPOINT             where to send everything
//	OTEL_EXPORTER_OTLP_PROTOCOL             http/protobuf, the only one that is linked
//
// The other variables of the exporter (headers, certificates, timeouts, compression),
// of the SDK (samplers, batches, limits) and of the resource (OTEL_SERVICE_NAME, by
// default quoin, and OTEL_RESOURCE_ATTRIBUTES) mean what the specification says.
//
// A collector that cannot be reached stops nothing: spans are dropped, and the log
// says so.
package tracing
