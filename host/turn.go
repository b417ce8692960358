package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/quoinhq/quoin/host/catalog"
)

// turn is what sets the tools of a model request apart from those that a caller
// brings to Exec: the embedder vouches for them, so they have the sources they say
// and no bounds; they come again with every request, so no record keeps them.
type turn struct {
	digest  string          // of the definitions; "" without any
	ids     map[string]bool // of the definitions
	visible []string        // what the model is shown
}

// newTurn makes clientTools of the tools of a model request that programs can
// call. Their defaults are filled in.
func (h *Host) newTurn(tools []catalog.Tool) (*clientTools, *failure) {
	c := &clientTools{callbacks: make(map[string]callback, len(tools)), turn: &turn{ids: make(map[string]bool, len(tools))}}
	stored := make([]clientTool, 0, len(tools))
	for _, t := range tools {
		if t.Invoke == nil && t.Source != catalog.SourceClient {
			return nil, turnFailure("tool %s has no Invoke; only tools of the source %q may be answered by Host.Answer", quoted(t.Name), catalog.SourceClient)
		}
		if t.Source == catalog.SourceQuoin && !h.owners[t.Owner] {
			return nil, turnFailure("tool %s has the owner %s, which may be the id of a plugin; tools of a request belong to %q, or to an owner that Config.Tools or Config.Namespaces names",
				quoted(t.Name), quoted(t.Owner), catalog.OwnerCore)
		}
		if t.Invoke != nil {
			c.callbacks[t.ID()] = t.Invoke
		}
		stored = append(stored, clientTool{t.Name, t.Label, t.Description, string(t.Source) + ":" + t.Owner, t.Parameters, t.Output,
			t.ReadOnly, t.Idempotent, t.Examples, t.Invoke != nil})
		c.turn.ids[t.ID()] = true
		t.Invoke = nil // views hold nothing of a run
		c.definitions = append(c.definitions, t)
	}
	if len(tools) == 0 {
		return c, nil
	}
	b, err := json.Marshal(stored)
	if err != nil {
		return nil, turnFailure("the schemas of the tools are not JSON: %v", err)
	}
	sum := sha256.Sum256(b)
	c.turn.digest = "turn " + hex.EncodeToString(sum[:])
	return c, nil
}

func turnFailure(format string, args ...any) *failure {
	return failf(CodeInvalidInput, ReasonInvalidConfig, PhaseInput, format, args...)
}

// keeps reports whether a tool of the host stays next to these: a tool of a request
// takes the place of the same one in Config.Tools.
func (c *clientTools) keeps(t *catalog.Tool) bool {
	return c.turn == nil || !c.turn.ids[t.ID()]
}
