package modeltools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/text"
)

// Provider names the shape in which an API takes the definitions of tools.
type Provider string

// The providers.
const (
	ProviderOpenAI    Provider = "openai"           // chat completions: "tools"
	ProviderResponses Provider = "openai-responses" // responses: "tools"
	ProviderAnthropic Provider = "anthropic"        // messages: "tools"
	ProviderGemini    Provider = "gemini"           // generateContent: "tools"
	ProviderMCP       Provider = "mcp"              // tools/list: "tools"
)

// Providers returns all providers.
func Providers() []Provider {
	return []Provider{ProviderOpenAI, ProviderResponses, ProviderAnthropic, ProviderGemini, ProviderMCP}
}

// Render writes definitions as the value of the field "tools" in a request
// to a provider, or in an MCP server's answer. Schemas of exec and wait have no
// unions in any shape; schemas of other tools are taken as they are. It fails for an unknown
// provider and for a schema that is not a JSON object.
func Render(p Provider, tools []catalog.Tool) (json.RawMessage, error) {
	if !slices.Contains(Providers(), p) {
		return nil, fmt.Errorf("provider %q is unknown, expected one of %v", p, Providers())
	}
	list := make([]any, 0, len(tools))
	for _, t := range tools {
		d, err := render(p, t)
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", text.Cut(t.Name, 64), err)
		}
		list = append(list, d)
	}
	if p == ProviderGemini {
		if len(list) == 0 {
			return json.RawMessage("[]"), nil
		}
		return jsontext.Marshal([]any{map[string]any{"functionDeclarations": list}})
	}
	return jsontext.Marshal(list)
}

// Shapes of one definition. Fields are in the order of the providers' documents.
type (
	openAIFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	openAITool struct {
		Type     string         `json:"type"`
		Function openAIFunction `json:"function"`
	}
	responsesTool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		// Strict would make every field required; the API's default is true.
		Strict bool `json:"strict"`
	}
	anthropicTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	geminiFunction struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		// The other field, parameters, takes a dialect that few schemas are in.
		Parameters json.RawMessage `json:"parametersJsonSchema"`
	}
	mcpTool struct {
		Name        string          `json:"name"`
		Title       string          `json:"title,omitempty"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
)

func render(p Provider, t catalog.Tool) (any, error) {
	schema, err := objectSchema(t.Parameters)
	if err != nil {
		return nil, err
	}
	switch p {
	case ProviderOpenAI:
		return openAITool{"function", openAIFunction{t.Name, t.Description, schema}}, nil
	case ProviderResponses:
		return responsesTool{"function", t.Name, t.Description, schema, false}, nil
	case ProviderAnthropic:
		return anthropicTool{t.Name, t.Description, schema}, nil
	case ProviderGemini:
		return geminiFunction{t.Name, t.Description, schema}, nil
	default:
		return mcpTool{t.Name, t.Label, t.Description, schema}, nil
	}
}

// objectSchema is the schema of a tool's input; without one, any object.
func objectSchema(schema json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(schema, &object); err != nil || object == nil {
		return nil, fmt.Errorf("its parameters are not a JSON Schema object")
	}
	return schema, nil
}

// RequestTools returns the names of the tools in the body of a request.
func RequestTools(p Provider, body []byte) ([]string, error) {
	type named struct {
		Name     string `json:"name"`
		Type     string `json:"type"` // tools that the provider runs itself may have nothing else
		Function *struct {
			Name string `json:"name"`
		} `json:"function"`
		Declarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	}
	var request struct {
		Tools []named `json:"tools"`
	}
	if !slices.Contains(Providers(), p) {
		return nil, fmt.Errorf("provider %q is unknown, expected one of %v", p, Providers())
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	names := []string{}
	for _, t := range request.Tools {
		switch {
		case t.Function != nil:
			names = append(names, t.Function.Name)
		case t.Declarations != nil:
			for _, d := range t.Declarations {
				names = append(names, d.Name)
			}
		default:
			names = append(names, cmp.Or(t.Name, t.Type))
		}
	}
	return names, nil
}
