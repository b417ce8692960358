package view

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/text"
)

// requestTools is what sets the tools of a model request apart from those that a caller
// brings to Exec: the embedder vouches for them, so they have the sources they say
// and no bounds; they come again with every request, so no record keeps them.
type requestTools struct {
	digest  string          // of the definitions; "" without any
	ids     map[string]bool // of the definitions
	Visible []string        // what the model is shown
}

// NewRequestTools makes clientTools of the tools of a model request that programs can
// call. Their defaults are filled in.
func NewRequestTools(tools []catalog.Tool, owners map[string]bool) (*ClientTools, *codemode.Error) {
	c := &ClientTools{Callbacks: make(map[string]callback, len(tools)), Turn: &requestTools{ids: make(map[string]bool, len(tools))}}
	stored := make([]clientTool, 0, len(tools))
	for _, t := range tools {
		if t.Invoke == nil && t.Source != catalog.SourceClient {
			return nil, RequestFailure("tool %s has no Invoke; only tools of the source %q may be answered by Host.Answer", fmt.Sprintf("%q", text.Cut(t.Name, 64)), catalog.SourceClient)
		}
		if t.Source == catalog.SourceQuoin && !owners[t.Owner] {
			return nil, RequestFailure("tool %s has the owner %s, which may be the id of a plugin; tools of a request belong to %q, or to an owner that Config.Tools or Config.Namespaces names",
				fmt.Sprintf("%q", text.Cut(t.Name, 64)), fmt.Sprintf("%q", text.Cut(t.Owner, 64)), catalog.OwnerCore)
		}
		if t.Invoke != nil {
			c.Callbacks[t.ID()] = t.Invoke
		}
		stored = append(stored, clientTool{t.Name, t.Label, t.Description, string(t.Source) + ":" + t.Owner, t.Parameters, t.Output,
			t.ReadOnly, t.Idempotent, t.Examples, t.Invoke != nil})
		c.Turn.ids[t.ID()] = true
		t.Invoke = nil // views hold nothing of a run
		c.definitions = append(c.definitions, t)
	}
	if len(tools) == 0 {
		return c, nil
	}
	b, err := json.Marshal(stored)
	if err != nil {
		return nil, RequestFailure("the schemas of the tools are not JSON: %v", err)
	}
	sum := sha256.Sum256(b)
	c.Turn.digest = "turn " + hex.EncodeToString(sum[:])
	return c, nil
}

func RequestFailure(format string, args ...any) *codemode.Error {
	return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput, format, args...)
}

// keeps reports whether a tool of the host stays visible with these: a tool of a
// request replaces the same one in Config.Tools.
func (c *ClientTools) keeps(t *catalog.Tool) bool {
	return c.Turn == nil || !c.Turn.ids[t.ID()]
}
