package host

import (
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// maxDetails bounds the details of an error in the guest, in bytes. More are left
// out.
const maxDetails = 16 << 10

// ofPlugin takes over what an error of a plugin says. Where the plugin does not say
// what the call has changed, the kind of the error does: a tool that ran and failed
// has said what there is to say, and whatever else went wrong may have gone wrong
// halfway.
func (e *callError) ofPlugin(tool *catalog.Tool, pe *protocol.Error) {
	e.Message, e.Code, e.Retryable = pe.Message, pe.Code, pe.Retryable
	if len(pe.Details) <= maxDetails {
		e.Details = pe.Details
	}
	switch pe.Effect {
	case protocol.EffectNone, protocol.EffectDone:
		e.EffectStatus = pe.Effect.String()
		return
	case protocol.EffectUnknown:
		e.unknown = true
		return
	}
	switch pe.Code {
	case protocol.CodeDraining, protocol.CodeRestarting: // the call has not begun
		e.EffectStatus, e.Retryable = effectNone, true
		return
	case protocol.CodeDisabled:
		e.EffectStatus = effectNone
		return
	}
	switch pe.Kind {
	case protocol.KindTool, protocol.KindInput:
	default:
		e.unknown = !tool.ReadOnly
	}
}
