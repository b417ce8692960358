package sdktest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
)

// Options tune a harness. A nil *Options means all defaults.
type Options struct {
	// Config is the plugin's configuration: any value with a JSON form.
	// Defaults to nil.
	Config any
	// Secrets are the plugin's secrets by name. Defaults to nil.
	Secrets map[string]string
	// Storage is what the plugin's storage is kept in; several harnesses may share
	// one. Defaults to an empty one in memory.
	Storage protocol.Storage
	// DataDir is the plugin's data directory. Defaults to a new temporary one.
	DataDir string
	// Run is the run calls are made for. Defaults to a run named "test".
	Run *sdk.RunContext
}

// Harness is a plugin under test and the host's stand-in.
type Harness struct {
	t       testing.TB
	client  *protocol.Client
	storage protocol.Storage
	desc    *protocol.Description
	calls   atomic.Int64
	prefix  string // keeps idempotency keys of several harnesses on one data directory apart

	mu  sync.Mutex
	run sdk.RunContext

	hostOnce sync.Once
	host     *host.Host // runs cells; see Host
	hostErr  error
}

// Start serves p on a loopback connection, configures it and checks what it
// says about itself. It fails the test if any of that fails. When the test
// ends, calls are drained, the plugin's OnClose functions run, and an error of
// theirs fails the test.
func Start(t testing.TB, p *sdk.Plugin, o *Options) *Harness {
	t.Helper()
	h, err := start(t, p, o)
	if err != nil {
		t.Fatalf("sdktest: plugin %s does not start: %v", p.ID(), err)
	}
	return h
}

// StartError starts p like [Start] and returns the error that its configuration
// ended in; nil if the plugin came up.
func StartError(t testing.TB, p *sdk.Plugin, o *Options) error {
	t.Helper()
	_, err := start(t, p, o)
	return err
}

func start(t testing.TB, p *sdk.Plugin, o *Options) (*Harness, error) {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	h := &Harness{t: t, run: defaultRun(o.Run), prefix: rand.Text() + "-", storage: o.Storage}
	if h.storage == nil {
		h.storage = &pluginstorage.Memory{}
	}
	h.connect(p)
	ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
	defer cancel()
	var err error
	if h.desc, err = h.client.Describe(ctx); err != nil {
		return nil, err
	}
	conf, err := configuration(t, o)
	if err != nil {
		return nil, err
	}
	if err := h.client.Configure(ctx, conf); err != nil {
		return nil, err
	}
	_, err = h.client.Health(ctx)
	return h, err
}

// callTimeout bounds every call of a harness.
const callTimeout = time.Minute

// drainTimeout is how long running calls may take when the test has ended.
const drainTimeout = 10 * time.Second

// connect serves p in memory and connects to it, as its host: until the test ends,
// when p is drained and closed.
func (h *Harness) connect(p *sdk.Plugin) {
	h.t.Helper()
	lis := bufconn.Listen(1 << 20)
	server := grpc.NewServer(protocol.ServerOptions()...)
	protocol.Register(server, p.Service())
	served := make(chan error, 2)
	go func() { served <- server.Serve(lis) }()

	options := append(protocol.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	conn, err := grpc.NewClient("passthrough:///plugin", options...)
	if err != nil {
		h.t.Fatalf("sdktest: %v", err)
	}
	h.client = protocol.NewClient(conn)
	go func() { served <- h.client.ServeHost(context.Background(), h.storage) }()
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
		defer cancel()
		_, err := h.client.Drain(ctx) // what is still running then is cut off
		err = errors.Join(err, conn.Close())
		server.Stop()
		if err := errors.Join(err, <-served, <-served); err != nil {
			h.t.Errorf("sdktest: stopping plugin %s: %v", p.ID(), err)
		}
		if err := p.Close(); err != nil {
			h.t.Errorf("sdktest: closing plugin %s: %v", p.ID(), err)
		}
	})
}

// Storage returns what the plugin's storage is kept in.
func (h *Harness) Storage() protocol.Storage { return h.storage }

func defaultRun(r *sdk.RunContext) sdk.RunContext {
	if r != nil {
		return *r
	}
	return sdk.RunContext{AgentID: "test", SessionKey: "test", SessionID: "test", RunID: "test"}
}

func configuration(t testing.TB, o *Options) (protocol.Configuration, error) {
	conf := protocol.Configuration{DataDir: o.DataDir, Secrets: o.Secrets, Protocol: protocol.Version}
	if conf.DataDir == "" {
		conf.DataDir = t.TempDir()
	}
	if o.Config == nil {
		return conf, nil
	}
	b, err := json.Marshal(o.Config)
	if err != nil {
		return conf, fmt.Errorf("the configuration has no JSON form: %w", err)
	}
	conf.JSON = b
	return conf, nil
}

// Describe returns what the plugin says about itself.
func (h *Harness) Describe() *protocol.Description { return h.desc }

// Run makes later calls belong to the given run.
func (h *Harness) Run(rc sdk.RunContext) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.run = rc
}

func (h *Harness) currentRun() sdk.RunContext {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.run
}

// Call calls a tool with an input that may be any value with a JSON form; nil
// stands for {}. An error is a *protocol.Error. A result that does not fit the
// tool's output schema fails the test.
func (h *Harness) Call(tool string, input any) (json.RawMessage, error) {
	h.t.Helper()
	result, _, err := h.CallProgress(h.t.Context(), tool, input)
	return result, err
}

// CallProgress is [Harness.Call] with a context, and with the progress the tool
// reported.
func (h *Harness) CallProgress(ctx context.Context, tool string, input any) (json.RawMessage, []json.RawMessage, error) {
	h.t.Helper()
	return h.call(ctx, tool, input, nil)
}

func (h *Harness) call(ctx context.Context, tool string, input any, by *sdk.CallApproval) (json.RawMessage, []json.RawMessage, error) {
	h.t.Helper()
	if input == nil {
		input = struct{}{}
	}
	b, err := json.Marshal(input)
	if err != nil {
		h.t.Fatalf("sdktest: the input of %s has no JSON form: %v", tool, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id := "call-" + strconv.FormatInt(h.calls.Add(1), 10)
	var progress []json.RawMessage
	result, err := h.client.CallTool(ctx, protocol.CallRequest{
		Tool: tool, CallID: id, IdempotencyKey: h.prefix + id, Run: h.currentRun(), Input: b, Approval: by,
	}, func(v json.RawMessage) { progress = append(progress, v) })
	if err != nil {
		return nil, progress, err
	}
	h.checkOutput(tool, result)
	return result, progress, nil
}

// CallInto is [Harness.Call] with the result decoded into out. It fails the
// test on any error.
func (h *Harness) CallInto(out any, tool string, input any) {
	h.t.Helper()
	result, err := h.Call(tool, input)
	if err != nil {
		h.t.Fatalf("sdktest: %s: %v", tool, err)
	}
	if err := json.Unmarshal(result, out); err != nil {
		h.t.Fatalf("sdktest: the result of %s does not decode: %v\n%s", tool, err, result)
	}
}

// checkOutput fails the test if a result does not fit its tool's schema.
func (h *Harness) checkOutput(tool string, result json.RawMessage) {
	h.t.Helper()
	info, ok := h.desc.Tool(tool)
	if !ok || info.Output == nil {
		return
	}
	if err := manifest.ValidateJSON(info.Output, result); err != nil {
		h.t.Errorf("sdktest: the result of %s does not fit its output schema: %v\n%s", tool, err, result)
	}
}

// Scope asks the plugin for the scope of a namespace in the current run. It
// fails the test if a verb leads to a tool the namespace does not require.
func (h *Harness) Scope(namespace string) (*namespaces.Scope, error) {
	h.t.Helper()
	i := slices.IndexFunc(h.desc.Namespaces, func(n protocol.NamespaceInfo) bool { return n.ID == namespace })
	if i < 0 {
		h.t.Fatalf("sdktest: the plugin has no namespace %q", namespace)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), callTimeout)
	defer cancel()
	encoded, err := h.client.CreateScope(ctx, namespace, h.currentRun())
	if err != nil {
		return nil, err
	}
	scope, err := namespaces.Decode(encoded, namespaces.Limits{})
	if err != nil {
		return nil, err
	}
	if err := scope.CheckTargets(h.desc.Namespaces[i].RequiredTools); err != nil {
		h.t.Errorf("sdktest: %v", err)
	}
	return scope, nil
}

// Verb calls a verb the way a guest does: path is where it stands in the scope
// of the namespace, args are its arguments.
func (h *Harness) Verb(namespace string, path []string, args ...any) (json.RawMessage, error) {
	h.t.Helper()
	scope, err := h.Scope(namespace)
	if err != nil {
		return nil, err
	}
	call, err := scope.Resolve(path)
	if err != nil {
		return nil, err
	}
	input, err := h.mapped(namespace, call.Mapping, encodeArgs(h.t, args))
	if err != nil {
		return nil, err
	}
	return h.Call(call.Tool, input)
}

func encodeArgs(t testing.TB, args []any) []json.RawMessage {
	t.Helper()
	out := make([]json.RawMessage, len(args))
	for i, a := range args {
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatalf("sdktest: argument %d has no JSON form: %v", i+1, err)
		}
		out[i] = b
	}
	return out
}

// mapped applies an argument mapping, in the plugin if it is a function there.
func (h *Harness) mapped(namespace string, m namespaces.Mapping, args []json.RawMessage) (json.RawMessage, error) {
	if m.Kind != namespaces.MapFunction {
		return m.Apply(args)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), callTimeout)
	defer cancel()
	return h.client.MapInput(ctx, namespace, h.currentRun(), m.Mapper, args)
}

// Drain drains the plugin as a host does before it stops it: no call is taken any
// more, and the running ones may end until ctx does. It returns how many are left.
func (h *Harness) Drain(ctx context.Context) (int, error) { return h.client.Drain(ctx) }
