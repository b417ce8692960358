package plugins

import (
	"bytes"
	"slices"

	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// compatible holds what a caller knows of a tool against the generation that is
// to run it. Another generation's tool will do if it takes the input and promises
// no less: what was decided about the call before was decided about the promises.
func (r *CallRequest) compatible(pluginID string, now *protocol.Description) error {
	if r.Known == nil || r.Known.of == now {
		return nil
	}
	i := slices.IndexFunc(now.Tools, func(t protocol.ToolInfo) bool { return t.Name == r.Tool })
	if i < 0 {
		return protocol.NewError(protocol.KindInput, protocol.CodeChanged,
			"plugin %s was reloaded and has no tool %q any more", pluginID, r.Tool)
	}
	tool := &now.Tools[i]
	if r.Known.ReadOnly && !tool.ReadOnly || r.Known.Idempotent && !tool.Idempotent {
		return protocol.NewError(protocol.KindInput, protocol.CodeChanged,
			"plugin %s was reloaded and its tool %q does more than it did: it is no longer marked as harmless to call, so this call was not made", pluginID, r.Tool)
	}
	if bytes.Equal(r.Known.Parameters, tool.Parameters) {
		return nil
	}
	input := r.Input
	if len(input) == 0 {
		input = []byte("{}")
	}
	if err := manifest.ValidateJSON(tool.Parameters, input); err != nil {
		return protocol.NewError(protocol.KindInput, protocol.CodeChanged,
			"plugin %s was reloaded and its tool %q now takes another input, which this one does not fit; programs that start now find it described", pluginID, r.Tool)
	}
	return nil
}

// sameNamespace holds a namespace of one generation against another that is asked
// about it. The other's scope is checked where it is used.
func sameNamespace(pluginID, id string, known, now *protocol.Description) error {
	if known == now || slices.ContainsFunc(now.Namespaces, func(n protocol.NamespaceInfo) bool { return n.ID == id }) {
		return nil
	}
	return protocol.NewError(protocol.KindInput, protocol.CodeChanged, "plugin %s was reloaded and has no namespace %q any more", pluginID, id)
}
