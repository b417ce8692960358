package host

import (
	"encoding/json"

	"github.com/quoinhq/quoin/host/catalog"
)

// maxCheckedReply bounds the replies that are compared with what their tools
// declare.
const maxCheckedReply = 256 << 10

// reply is what a tool has returned, before any hook; zero if it has not.
type reply struct {
	tool  *catalog.Tool
	value json.RawMessage
}

// checkDeclared compares a reply with the output schema of its tool. The guest
// has its answer by then, and gets the same either way: the tool has taken effect,
// and a program is helped more by a result that is not quite as declared than by
// none. Operators are told, once for each tool and schema. The results of MCP servers
// are left to the package that speaks with them: their schemas are of a part of
// the result.
func (r *run) checkDeclared(got reply) {
	if got.tool == nil || len(got.tool.Output) == 0 || len(got.value) > maxCheckedReply || got.tool.Source == catalog.SourceMCP {
		return
	}
	id := got.tool.ID()
	err := r.view().catalog.ValidateOutput(id, got.value)
	if err == nil {
		return
	}
	if _, told := r.h.badOutputs.LoadOrStore(id+" "+schemaDigest(got.tool), true); !told {
		r.h.log.Warn("a tool returns what it does not declare; programs get it all the same", "tool", id, "error", err)
	}
}
