package server

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addOlderQuestions adds the tools by which the scenarios of older revisions have a
// server ask. The SDK turns their questions into requests.
func (f *fixture) addOlderQuestions(s *mcp.Server) {
	ask := func(name, description, argument string, question func(argument string) mcp.InputRequest) {
		schema := noArguments
		if argument != "" {
			schema = fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, argument, argument)
		}
		f.addAsking(s, name, description, schema, func(req *mcp.CallToolRequest, _ string) (*mcp.CallToolResult, mcp.InputRequestMap, string) {
			answers := req.Params.InputResponses
			if e, ok := answers["question"].(*mcp.ElicitResult); ok && e != nil {
				return text("action=%s content=%v", e.Action, e.Content), nil, ""
			}
			if words, ok := sampled(answers, "question"); ok {
				return text("LLM response: %s", words), nil, ""
			}
			var given map[string]string
			if argument != "" && json.Unmarshal(req.Params.Arguments, &given) != nil {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: argument + " is no text"}}}, nil, ""
			}
			return nil, mcp.InputRequestMap{"question": question(given[argument])}, "asked"
		})
	}
	ask("test_sampling", "Asks the client's model.", "prompt", func(prompt string) mcp.InputRequest { return greetingPrompt(prompt) })
}

// defaults is a form with a default of each type.
const defaults = `{"type":"object","properties":{
	"name":{"type":"string","default":"John Doe"}, "age":{"type":"integer","default":30}, "score":{"type":"number","default":95.5},
	"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"}, "verified":{"type":"boolean","default":true}
}}`

// choices is a form with a choice of each kind.
const choices = `{"type":"object","properties":{
	"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
	"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]},
	"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["One","Two","Three"]},
	"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
	"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]}}
}}`
