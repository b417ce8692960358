//lint:file-ignore SA1019 The suite asks for what the specification has deprecated.

package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A questioner answers a call, or says what the client has to answer first. State is
// what it has given with its last questions, or "".
type questioner func(req *mcp.CallToolRequest, state string) (res *mcp.CallToolResult, ask mcp.InputRequestMap, next string)

// addAsking adds a tool that may ask the client.
func (f *fixture) addAsking(s *mcp.Server, name, description, schema string, ask questioner) {
	addToolOf(s, name, description, schema, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		state, ok := f.unseal(req.Params.RequestState)
		if !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the requestState is not one of this server"}
		}
		res, questions, next := ask(req, state)
		if res != nil {
			return res, nil
		}
		return &mcp.CallToolResult{InputRequests: questions, RequestState: f.seal(next)}, nil
	})
}

// seal makes a state that a client cannot change.
func (f *fixture) seal(state string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(state)) + "." + f.sum(state)
}

func (f *fixture) sum(state string) string {
	mac := hmac.New(sha256.New, f.key)
	mac.Write([]byte(state))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// unseal reverses seal. A call without a state has the empty one.
func (f *fixture) unseal(sealed string) (string, bool) {
	if sealed == "" {
		return "", true
	}
	encoded, sum, _ := strings.Cut(sealed, ".")
	state, err := base64.RawURLEncoding.DecodeString(encoded)
	return string(state), err == nil && hmac.Equal([]byte(sum), []byte(f.sum(string(state))))
}

// accepted is what a person filled in, if the client has an answer under that name.
func accepted(answers mcp.InputResponseMap, name string) map[string]any {
	if e, ok := answers[name].(*mcp.ElicitResult); ok && e != nil && e.Action == "accept" {
		return e.Content
	}
	return nil
}

// form is a question with a form.
func form(message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)}
}

// nameForm asks for a name.
func nameForm() *mcp.ElicitParams {
	return form("What is your name?", `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
}

func greetingPrompt(prompt string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: 50, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: prompt}}}}
}

// sampled is what the client's model wrote, if it has an answer under that name.
func sampled(answers mcp.InputResponseMap, name string) (string, bool) {
	var first mcp.Content
	switch m := answers[name].(type) {
	case *mcp.CreateMessageResult:
		if m != nil {
			first = m.Content
		}
	case *mcp.CreateMessageWithToolsResult:
		if m != nil && len(m.Content) > 0 {
			first = m.Content[0]
		}
	}
	t, ok := first.(*mcp.TextContent)
	if !ok {
		return "", false
	}
	return t.Text, true
}

const noArguments = `{"type":"object"}`

// addQuestions adds the tools that ask the client.
func (f *fixture) addQuestions(s *mcp.Server) {
	f.addOlderQuestions(s)
	add := func(name, description string, ask questioner) {
		f.addAsking(s, "test_input_required_result_"+name, description, noArguments, ask)
	}
	named := func(req *mcp.CallToolRequest, _ string) (*mcp.CallToolResult, mcp.InputRequestMap, string) {
		if name, _ := accepted(req.Params.InputResponses, "user_name")["name"].(string); name != "" {
			return text("Hello, %s!", name), nil, ""
		}
		return nil, mcp.InputRequestMap{"user_name": nameForm()}, "name"
	}
	add("elicitation", "Asks for a name.", named)
	add("request_state", "Asks for a confirmation, with a state.", f.confirm("state-ok"))
	add("tampered_state", "Refuses a state that was changed.", f.confirm("state-ok"))
	add("sampling", "Asks the client's model.", func(req *mcp.CallToolRequest, _ string) (*mcp.CallToolResult, mcp.InputRequestMap, string) {
		for name := range req.Params.InputResponses {
			if answer, ok := sampled(req.Params.InputResponses, name); ok {
				return text("The model says: %s", answer), nil, ""
			}
		}
		return nil, mcp.InputRequestMap{"capital_question": greetingPrompt("What is the capital of France?")}, "model"
	})
	add("list_roots", "Asks for the client's roots.", func(req *mcp.CallToolRequest, _ string) (*mcp.CallToolResult, mcp.InputRequestMap, string) {
		if roots, ok := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult); ok && roots != nil {
			return text("%d roots", len(roots.Roots)), nil, ""
		}
		return nil, mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}, "roots"
	})
	add("multiple_inputs", "Asks three things at once.", func(req *mcp.CallToolRequest, _ string) (*mcp.CallToolResult, mcp.InputRequestMap, string) {
		answers := req.Params.InputResponses
		greeting, ok := sampled(answers, "greeting")
		roots, listed := answers["client_roots"].(*mcp.ListRootsResult)
		if name, _ := accepted(answers, "user_name")["name"].(string); ok && listed && roots != nil && name != "" {
			return text("%s, %s of %d roots", greeting, name, len(roots.Roots)), nil, ""
		}
		return nil, mcp.InputRequestMap{
			"user_name": nameForm(), "greeting": greetingPrompt("Write a greeting."), "client_roots": &mcp.ListRootsParams{},
		}, "three"
	})
	add("multi_round", "Asks twice.", twice)
	add("capabilities", "Asks what the client can answer.", capable)
}

// confirm asks for a confirmation and answers with a word.
func (f *fixture) confirm(word string) questioner {
	return func(req *mcp.CallToolRequest, state string) (*mcp.CallToolResult, mcp.InputRequestMap, string) {
		if state == word && accepted(req.Params.InputResponses, "confirm") != nil {
			return text("%s", word), nil, ""
		}
		return nil, mcp.InputRequestMap{
			"confirm": form("Please confirm.", `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`),
		}, word
	}
}

// twice asks for a name, then for a color. The state has the name.
func twice(req *mcp.CallToolRequest, state string) (*mcp.CallToolResult, mcp.InputRequestMap, string) {
	name, asked := strings.CutPrefix(state, "name=")
	color, _ := accepted(req.Params.InputResponses, "step2")["color"].(string)
	switch {
	case asked && color != "":
		return text("%s likes %s", name, color), nil, ""
	case !asked:
		name, _ = accepted(req.Params.InputResponses, "step1")["name"].(string)
	}
	if name == "" {
		return nil, mcp.InputRequestMap{"step1": nameForm()}, "start"
	}
	return nil, mcp.InputRequestMap{
		"step2": form("What color do you like?", `{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`),
	}, "name=" + name
}

// capable asks for no more than the client has said that it can answer.
func capable(req *mcp.CallToolRequest, _ string) (*mcp.CallToolResult, mcp.InputRequestMap, string) {
	if len(req.Params.InputResponses) > 0 {
		return text("answered"), nil, ""
	}
	ask := mcp.InputRequestMap{}
	if c := req.ClientCapabilities(); c != nil {
		if c.Elicitation != nil {
			ask["user_name"] = nameForm()
		}
		if c.Sampling != nil {
			ask["greeting"] = greetingPrompt("Write a greeting.")
		}
		if c.RootsV2 != nil {
			ask["client_roots"] = &mcp.ListRootsParams{}
		}
	}
	if len(ask) == 0 {
		return text("the client can be asked nothing"), nil, ""
	}
	return nil, ask, "capable"
}
