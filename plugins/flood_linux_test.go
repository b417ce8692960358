package plugins

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
)

// brokerStream is where go-plugin's broker lets a plugin announce connections to
// its host, which remembers each of them.
const brokerStream = "/plugin.GRPCBroker/StartStream"

// flood is a plugin that answers the broker's stream with announcements.
type flood struct {
	mu    sync.Mutex
	begun bool
	done  chan struct{}
}

// announcements is enough to cost a host that takes them hundreds of megabytes.
const announcements = 300_000

// serveFlood serves a plugin that floods, with a tool that says whether it could.
func serveFlood(id string) {
	f := &flood{done: make(chan struct{})}
	p := fixture(id)
	sdk.AddTool(p, sdk.Tool{Name: "flooded", Description: "Says whether the flood has begun, when it is over.", ReadOnly: true},
		func(context.Context, *sdk.Call, none) (bool, error) {
			f.mu.Lock()
			begun := f.begun
			f.mu.Unlock()
			if begun {
				<-f.done
			}
			return begun, nil
		})
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: protocol.Handshake(),
		Plugins:         protocol.PluginSet(p.Service()),
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server {
			return goplugin.DefaultGRPCServer(append(o, grpc.StreamInterceptor(f.intercept)))
		},
		Logger: hclog.NewNullLogger(),
	})
}

func (f *flood) intercept(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if info.FullMethod != brokerStream {
		return handle(srv, s)
	}
	f.mu.Lock()
	f.begun = true
	f.mu.Unlock()
	defer close(f.done)
	for id := uint32(1); id <= announcements; id++ {
		// The id is the first field of an announcement, as it is of this message.
		if err := s.SendMsg(wrapperspb.UInt32(id)); err != nil {
			return err
		}
	}
	return nil
}

// TestAPluginCannotFloodItsHost: the host never starts the broker's stream, so that
// what a plugin would announce there costs it nothing.
func TestAPluginCannotFloodItsHost(t *testing.T) {
	hosttest.Serial(t, "measures the memory of this process")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p := startRole(t, "flood", testOptions(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	value, err := p.CallTool(ctx, call("flooded", none{}), nil)
	if err != nil || string(value) != "false" {
		t.Errorf("the flood has begun: %s, %v", value, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	const bound = 16 << 20
	if held := int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse); held > bound {
		t.Errorf("the host holds %d more bytes than before", held)
	}
}
