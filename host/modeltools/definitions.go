package modeltools

import (
	"encoding/json"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// schemaObject is the JSON Schema of a tool's input, as plain as every provider
// takes it: one flat object, no unions.
type schemaObject struct {
	Type       string         `json:"type"`
	Properties orderedSchemas `json:"properties"`
	Required   []string       `json:"required"`
	Additional *bool          `json:"additionalProperties,omitempty"`
}

type schemaProperty struct {
	name        string
	Type        string   `json:"type"`
	Enum        []string `json:"enum,omitempty"`
	Description string   `json:"description"`
}

// orderedSchemas keep their order: models read from the top.
type orderedSchemas []schemaProperty

func (ps orderedSchemas) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, p := range ps {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := jsontext.Marshal(p.name)
		if err != nil {
			return nil, err
		}
		value, err := jsontext.Marshal(p)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// execSchema is the documented input of exec. The alias command is not part of it.
func execSchema(s codemode.Settings) schemaObject {
	o := schemaObject{Type: "object", Required: []string{"code"}, Additional: new(bool), Properties: orderedSchemas{
		{name: "code", Type: "string", Description: "The program: the body of an async function that returns the result."},
	}}
	if len(s.Languages) > 1 || s.Languages[0] != codemode.LanguageJavaScript {
		description := "Defaults to javascript."
		if len(s.Languages) == 1 {
			description = "The only language there is."
			o.Required = append(o.Required, "language")
		}
		o.Properties = append(o.Properties, schemaProperty{name: "language", Type: "string", Enum: s.Languages, Description: description})
	}
	o.Properties = append(o.Properties, schemaProperty{name: "title", Type: "string", Description: "What the program does, in a few words, for people who follow along."})
	return o
}

func waitSchema() schemaObject {
	return schemaObject{Type: "object", Required: []string{"runId"}, Additional: new(bool), Properties: orderedSchemas{
		{name: "runId", Type: "string", Description: "The runId of the waiting result."},
	}}
}

// The names of the tools that a model is shown.
const (
	Exec = "exec"
	Wait = "wait"
)

// Definitions returns exec and wait for runs that reach offer, without Invoke.
func Definitions(offer Offer, s codemode.Settings) (exec, wait catalog.Tool) {
	exec = catalog.Tool{Name: Exec, Label: "Run a program", Description: execDescription(offer, s), Parameters: mustSchema(execSchema(s))}
	wait = catalog.Tool{Name: Wait, Label: "Continue a program", Description: waitDescription(s), Parameters: mustSchema(waitSchema())}
	return exec, wait
}

func mustSchema(o schemaObject) json.RawMessage {
	b, err := jsontext.Marshal(o)
	if err != nil {
		panic("modeltools: strings cannot be encoded: " + err.Error()) // they always can
	}
	return b
}

// EstimateTokens returns about how many tokens of a prompt the definition of a tool
// costs: one for four bytes, as English and JSON have with the tokenizers of today.
func EstimateTokens(t *catalog.Tool) int64 {
	const (
		bytesPerToken = 4
		frame         = 40 // what providers write around each definition
	)
	return int64(len(t.Name)+len(t.Description)+len(t.Parameters)+frame) / bytesPerToken
}
