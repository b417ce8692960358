package declare_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/declare"
	"github.com/quoinhq/quoin/internal/typescript"
)

// TestRandomSchemas: whatever keywords meet in a schema, the file compiles.
func TestRandomSchemas(t *testing.T) {
	files := map[string]string{"guest.d.ts": guest}
	for seed := range uint64(300) {
		g := &schemas{rand.New(rand.NewPCG(seed, 1))}
		schema := g.root()
		tool := &catalog.Tool{Name: "t", Owner: "o", Source: catalog.SourceQuoin, Parameters: schema, Output: g.root()}
		files[fmt.Sprintf("tools/t%d.d.ts", seed)] = string(declare.Tool(tool, fmt.Sprintf("t%d", seed)))
	}
	typescript.Check(t, files)
}

// schemas makes random schemas that refer to each other.
type schemas struct{ *rand.Rand }

func (g *schemas) root() json.RawMessage {
	root := g.schema(0)
	defs := map[string]any{}
	for _, name := range []string{"a", "b", "c", "string"} {
		defs[name] = g.schema(1)
	}
	if m, ok := root.(map[string]any); ok {
		m["$defs"] = defs
	}
	return must(json.Marshal(root))
}

func (g *schemas) schema(depth int) any {
	if depth > 4 || g.IntN(12) == 0 {
		return []any{true, false, map[string]any{}, map[string]any{"type": "string"}, map[string]any{"$ref": "#"}}[g.IntN(5)]
	}
	s := map[string]any{}
	below := func() any { return g.schema(depth + 1) }
	some := func() []any {
		list := make([]any, g.IntN(4))
		for i := range list {
			list[i] = below()
		}
		return list
	}
	keywords := []func(){
		func() { s["type"] = []any{"string", "integer", "object", "array", "null", "boolean"}[g.IntN(6)] },
		func() { s["type"] = []any{"object", "array", "null"}[:1+g.IntN(3)] },
		func() {
			s["properties"] = map[string]any{"x": below(), "y-z": below(), "new": below()}
			s["required"] = []any{"x", "q"}[:g.IntN(3)]
		},
		func() { s["additionalProperties"] = below() },
		func() { s["patternProperties"] = map[string]any{"^x": below()} },
		func() { s["items"] = below() },
		func() { s["prefixItems"], s["minItems"] = some(), g.IntN(3) },
		func() { s["items"], s["additionalItems"] = some(), below() },
		func() { s["anyOf"] = some() },
		func() { s["oneOf"] = some() },
		func() { s["allOf"] = some() },
		func() { s["enum"] = []any{"a", 1, nil, true, -1.5, map[string]any{"k": []any{}}}[:g.IntN(7)] },
		func() { s["const"] = []any{"a", 1, nil, []any{1, "b"}}[g.IntN(4)] },
		func() { s["nullable"] = true },
		func() { s["description"], s["default"] = "Says */ something.\nAnd more.", 5 },
		func() {
			s["$ref"] = []any{"#", "#/$defs/a", "#/$defs/b", "#/$defs/c", "#/$defs/string", "#/$defs/a/properties/x", "#/none"}[g.IntN(7)]
		},
	}
	for range 1 + g.IntN(4) {
		keywords[g.IntN(len(keywords))]()
	}
	return s
}
