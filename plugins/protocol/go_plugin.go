package protocol

import (
	"context"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// PluginSet is what go-plugin dispenses: on the host a *[Client] under
// [ServiceName], in a plugin process the given service. A host passes nil.
func PluginSet(s Service) goplugin.PluginSet {
	return goplugin.PluginSet{ServiceName: &bridge{service: s}}
}

// bridge adapts the protocol to go-plugin's registration.
type bridge struct {
	goplugin.NetRPCUnsupportedPlugin
	service Service
}

var _ goplugin.GRPCPlugin = (*bridge)(nil)

func (b *bridge) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	Register(s, b.service)
	return nil
}

func (b *bridge) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, cc *grpc.ClientConn) (any, error) {
	return NewClient(cc), nil
}

// Served is what a plugin process serves: s in every version of this build.
func Served(s Service) map[int]goplugin.PluginSet {
	sets := make(map[int]goplugin.PluginSet)
	for v := MinVersion; v <= Version; v++ {
		sets[v] = PluginSet(s)
	}
	return sets
}

// Spoken is what a host offers a plugin: the one version v.
func Spoken(v int) map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{v: PluginSet(nil)}
}
