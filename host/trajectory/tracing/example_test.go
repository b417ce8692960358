package tracing_test

import (
	"context"
	"log"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/trajectory/tracing"
)

// A host takes the provider's TracerProvider, also where the environment asks for no
// traces. The provider is shut down last, so that it sends what Close still tells.
func Example() {
	ctx := context.Background()
	provider, err := tracing.FromEnvironment(ctx, tracing.Options{Version: host.Version})
	if err != nil {
		log.Fatal(err)
	}
	defer provider.Shutdown(ctx)
	h, err := host.New(ctx, host.Config{TracerProvider: provider.TracerProvider()})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
}
