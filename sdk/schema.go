package sdk

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quoinhq/quoin/internal/typeschema"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// parseSchema reads a hand-written schema; nil stays nil.
func parseSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	if _, err := s.Resolve(nil); err != nil {
		return nil, err
	}
	return &s, nil
}

// encodeOutput writes a result as JSON that fits its schema.
func encodeOutput(tool string, v any, schema *jsonschema.Schema) (json.RawMessage, error) {
	b, err := typeschema.Encode(v, schema)
	if err != nil {
		return nil, protocol.NewError(protocol.KindPlugin, protocol.CodeInvalidOutput, "tool %s: the result cannot be encoded: %v", tool, err)
	}
	return b, nil
}
