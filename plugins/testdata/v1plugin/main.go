// Command v1plugin is a plugin as it was built before protocol version 2: it has
// nothing but the messages of version 1, frozen in v1.txtpb, and go-plugin. A host
// that sends it anything that version 1 does not have is told so.
package main

import (
	"context"
	"fmt"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

func main() {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: 1, MagicCookieKey: "QUOIN_PLUGIN", MagicCookieValue: "4e9d1f6c-quoin-plugin",
		},
		Plugins:    goplugin.PluginSet{"quoin": &served{}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server { return grpc.NewServer(opts...) },
	})
}

type served struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (*served) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	desc, err := service((&plugin{}).answers())
	if err != nil {
		return err
	}
	s.RegisterService(desc, nil)
	return nil
}

func (*served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("a plugin is no client")
}

// plugin has a tool that returns its input and one that fails.
type plugin struct {
	config []byte
}

// answers has what the plugin says to each method that it implements, as text.
func (p *plugin) answers() map[protoreflect.Name]answer {
	const tool = `tools {name: %q description: %q parameters: "{\"type\":\"object\"}" read_only: true} `
	says := func(text string) answer {
		return func(*dynamicpb.Message) []string { return []string{text} }
	}
	return map[protoreflect.Name]answer{
		"Describe": says(`id: "old" version: "1.0.0" ` +
			fmt.Sprintf(tool+tool+tool, "echo", "Does echo.", "fail", "Does fail.", "config", "Does config.") +
			`namespaces {id: "old" global_name: "Old" description: "Old." required_tools: "echo"}
			capabilities {before_tool_call: true}`),
		"Configure": func(r *dynamicpb.Message) []string {
			p.config = field(r, "config").Bytes()
			return []string{""}
		},
		"CreateScope":    says(fmt.Sprintf("scope: %q", `{"kind":"object","entries":{"echo":{"kind":"call","tool":"echo"}}}`)),
		"CallTool":       p.callTool,
		"Health":         says(""),
		"Drain":          says(""),
		"BeforeToolCall": says(`block: true reason: "not today"`),
	}
}

// callTool returns the events of a call.
func (p *plugin) callTool(r *dynamicpb.Message) []string {
	switch field(r, "tool").String() {
	case "fail":
		return []string{`error {kind: ERROR_KIND_TOOL code: "not_found" message: "no such thing" details: "{\"id\":7}"}`}
	case "config":
		return []string{fmt.Sprintf("result: %q", p.config)}
	}
	return []string{`progress: "\"half\""`, fmt.Sprintf("result: %q", field(r, "input").Bytes())}
}
