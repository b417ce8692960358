package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"google.golang.org/grpc"

	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// wireExam is a part in progress that has a connection for itself.
type wireExam struct {
	*setting
	*launched
	conn   *grpc.ClientConn
	client *protocol.Client        // says what hosts say
	rpc    protocolpb.PluginClient // says everything else
}

// examine brings the plugin up and runs the part.
func (e *wireExam) examine(part func(*wireExam)) error {
	if _, err := e.client.Describe(e.ctx); err != nil {
		return fmt.Errorf("asking Describe: %w", err)
	}
	defer e.offerServices()()
	c := protocol.Configuration{DataDir: filepath.Join(e.scratch, "data"), JSON: e.config, Protocol: e.found.Manifest.Protocol}
	if err := e.client.Configure(e.ctx, c); err != nil {
		return fmt.Errorf("asking Configure: %w", err)
	}
	part(e)
	return nil
}

// offerServices opens the stream of host services, as hosts do after Describe, and
// returns a function that ends it. The plugin may refuse it.
func (e *wireExam) offerServices() (stop func()) {
	if e.found.Manifest.Protocol < 2 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(e.ctx)
	served := make(chan error, 1)
	go func() { served <- e.client.ServeHost(ctx, &e.storage) }()
	return func() {
		cancel()
		if err := <-served; err != nil && !errors.Is(err, errors.ErrUnsupported) {
			e.problem("the stream HostServices broke: %v", err)
		}
	}
}

// made makes a declared call that must succeed.
func (e *wireExam) made(c Call) {
	ctx, cancel := e.bounded()
	defer cancel()
	_, err := e.client.CallTool(ctx, protocol.CallRequest{Tool: c.Tool, CallID: "call-made", IdempotencyKey: "key-made", Run: protocol.RunContext(run), Input: c.Input}, func(json.RawMessage) {})
	if err != nil {
		e.problem("a declared call of %s failed: %v", c.Tool, err)
	}
}

// alive reports a plugin that does not answer any more.
func (e *wireExam) alive(after string) {
	if _, err := e.client.Health(e.ctx); err != nil {
		e.problem("after %s the plugin is not healthy: %v", after, err)
	}
}
