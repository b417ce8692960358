package host

import (
	"encoding/json"

	"github.com/quoinhq/quoin/host/catalog"
)

// maxCheckedReply bounds the replies that are compared with what their tools
// declare.
const maxCheckedReply = 256 << 10

// checkOutput compares a reply with the output schema of its tool. The guest gets
// the reply either way: the tool has taken effect, and a program is helped more
// by a result that is not quite as declared than by none. Operators are told,
// once for each tool and schema. The results of MCP servers are left to the package
// that speaks with them: their schemas are of a part of the result.
func (h *Host) checkOutput(v *view, tool *catalog.Tool, value json.RawMessage) {
	if len(tool.Output) == 0 || len(value) > maxCheckedReply || tool.Source == catalog.SourceMCP {
		return
	}
	err := v.catalog.ValidateOutput(tool.ID(), value)
	if err == nil {
		return
	}
	if _, told := h.badOutputs.LoadOrStore(tool.ID()+" "+schemaDigest(tool), true); !told {
		h.log.Warn("a tool returns what it does not declare; programs get it all the same", "tool", tool.ID(), "error", err)
	}
}
