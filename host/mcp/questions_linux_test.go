package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
)

// serveStateless answers server/discover and hands every other request to each.
func (r *raw) serveStateless(each func(q request) error) error {
	for {
		line, err := r.in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var q request
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		switch {
		case q.ID == nil:
		case q.Method == "server/discover":
			err = r.reply(q, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{},"prompts":{}},"ttlMs":0,"cacheScope":"private"}`)
		case q.Method == "tools/list":
			list := []byte(oneTool)
			if file := os.Getenv("QUOIN_TEST_MCP_LIST"); file != "" {
				list, err = os.ReadFile(file)
			}
			if err == nil {
				err = r.reply(q, string(list))
			}
		default:
			err = each(q)
		}
		if err != nil {
			return err
		}
	}
}

// saidOnce answers the first request with the result in the variable, and every other with
// its parameters.
const resultKey = "QUOIN_TEST_MCP_RESULT"

func init() {
	badServers["inquirer"] = func(r *raw) error {
		first := true
		return r.serveStateless(func(q request) error {
			if text := os.Getenv(resultKey); first {
				first = false
				return r.say(`{"jsonrpc":"2.0","id":%s,%s}`, q.ID, text)
			}
			var params map[string]json.RawMessage
			if err := json.Unmarshal(q.Params, &params); err != nil {
				return err
			}
			delete(params, "_meta")
			text, err := json.Marshal(params)
			if err != nil {
				return err
			}
			return r.reply(q, fmt.Sprintf(`{"resultType":"complete","content":[],"contents":[],"messages":[],"method":%q,"params":%s}`, q.Method, text))
		})
	}
	badServers["putter-off"] = func(r *raw) error {
		left := 4 * maxEmptyRounds
		return r.serveStateless(func(q request) error {
			if left--; left < 0 {
				return r.reply(q, `{"resultType":"complete","content":[]}`)
			}
			return r.reply(q, `{"resultType":"input_required","requestState":"later"}`)
		})
	}
	badServers["legacy-inquirer"] = func(r *raw) error {
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				return r.reply(q, oneTool)
			}
			return r.say(`{"jsonrpc":"2.0","id":%s,%s}`, q.ID, os.Getenv(resultKey))
		})
	}
}

func inquirer(t *testing.T, role, answer string) *world {
	t.Helper()
	s := self(t, "ask", role)
	s.Env[resultKey] = strings.ReplaceAll(answer, "\n", "")
	return connect(t, Options{}, s)
}

// asked makes a call that has to end with questions.
func (w *world) asked(t *testing.T, r Request) *codemode.InputRequired {
	t.Helper()
	raw, err := w.Call(t.Context(), r)
	var ask *codemode.InputRequired
	if !errors.As(err, &ask) {
		t.Fatalf("got %.300s, %v; want questions\n%s", raw, err, w.log)
	}
	return ask
}

const (
	formQuestion = `{"method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"]}}}`
	urlQuestion  = `{"method":"elicitation/create","params":{"mode":"url","message":"Pay here.","url":"https://pay.example/1"}}`
	twoQuestions = `"result":{"resultType":"input_required","inputRequests":{"why":` + urlQuestion + `,"what":` + formQuestion + `},"requestState":"sealed\u0000é"}`
)

// TestAServerThatAsksByItsAnswer: its questions go to a person, and the call that is made
// again carries the answers and the server's state, and nothing else is different.
func TestAServerThatAsksByItsAnswer(t *testing.T) {
	t.Parallel()
	for tool, c := range map[string]struct{ input, method, params string }{
		"t":              {`{"x":1}`, "tools/call", `"name":"t","arguments":{"x":1}`},
		"resources_read": {`{"uri":"a://b"}`, "resources/read", `"uri":"a://b"`},
		"prompts_get":    {`{"name":"p"}`, "prompts/get", `"name":"p"`},
	} {
		t.Run(tool, func(t *testing.T) {
			w := inquirer(t, "inquirer", twoQuestions)
			r := Request{Server: "ask", Tool: tool, Input: json.RawMessage(c.input)}
			ask := w.asked(t, r)
			want := []codemode.Question{
				{ID: "what", Kind: codemode.QuestionForm, From: "ask", Message: "Which?",
					Schema: json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"]}`)},
				{ID: "why", Kind: codemode.QuestionURL, From: "ask", Message: "Pay here.", URL: "https://pay.example/1"},
			}
			if diff := cmp.Diff(want, ask.Questions); diff != "" {
				t.Fatal(diff)
			}
			r.Resumption = &codemode.Resumption{State: ask.State, Answers: map[string]codemode.QuestionAnswer{
				"what": {Action: codemode.AnswerAccept, Content: json.RawMessage(`{"b":"x","a":2}`)},
				"why":  {Action: codemode.AnswerDecline},
			}}
			raw, err := w.Call(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Method string         `json:"method"`
				Params map[string]any `json:"params"`
			}
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			var params map[string]any
			if err := json.Unmarshal([]byte(`{`+c.params+`,"requestState":"sealed\u0000é","inputResponses":{"what":{"action":"accept","content":{"a":2,"b":"x"}},"why":{"action":"decline"}}}`), &params); err != nil {
				t.Fatal(err)
			}
			if got.Method != c.method {
				t.Errorf("the second request is %s", got.Method)
			}
			if diff := cmp.Diff(params, got.Params); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAServerThatPutsOff: an answer without questions is a request to call again at once.
func TestAServerThatPutsOff(t *testing.T) {
	t.Parallel()
	w := inquirer(t, "inquirer", `"result":{"resultType":"input_required","requestState":"later"}`)
	out := w.call(t, "ask", "t", `{}`)
	if got := fmt.Sprint(out["params"]); got != "map[arguments:map[] name:t requestState:later]" {
		t.Errorf("the second request had %s", got)
	}
}

// TestAServerThatPutsOffForEver is called again so many times, and not more.
func TestAServerThatPutsOffForEver(t *testing.T) {
	t.Parallel()
	times := tenth
	times.emptyRound, times.maxEmptyRound = time.Microsecond, time.Microsecond
	w := connect(t, Options{times: times}, self(t, "ask", "putter-off"))
	if e := w.refuse(t, t.Context(), "ask", "t", `{}`); e.Code != CodeUnavailable || !strings.Contains(e.Message, fmt.Sprintf("%d times", maxEmptyRounds+1)) {
		t.Errorf("%+v", e)
	}
}

// TestQuestionsThatAreRefused: what is not a question for a person ends the call, with the
// reason.
func TestQuestionsThatAreRefused(t *testing.T) {
	t.Parallel()
	ask := func(requests string) string {
		return `"result":{"resultType":"input_required","inputRequests":` + requests + `}`
	}
	form := func(schema string) string {
		return ask(`{"q":{"method":"elicitation/create","params":{"message":"m","requestedSchema":` + schema + `}}}`)
	}
	page := func(url string) string {
		return ask(`{"q":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"` + url + `"}}}`)
	}
	many := `{`
	for i := range maxQuestions + 1 {
		many += fmt.Sprintf(`"q%d":%s,`, i, urlQuestion)
	}
	many = strings.TrimSuffix(many, ",") + `}`
	for name, c := range map[string]struct {
		answer string
		code   Code
		text   string
	}{
		"model":        {ask(`{"q":{"method":"sampling/createMessage","params":{}}}`), CodeNeedsInput, `what is not offered: "sampling/createMessage"`},
		"roots":        {ask(`{"q":{"method":"roots/list"}}`), CodeNeedsInput, "not offered"},
		"nothing":      {`"result":{"resultType":"input_required"}`, CodeInvalidReply, "does not say which"},
		"no object":    {ask(`[1]`), CodeInvalidReply, "not an object"},
		"many":         {ask(many), CodeInvalidReply, "17 questions"},
		"id":           {ask(`{"":` + urlQuestion + `}`), CodeInvalidReply, "has the id"},
		"mode":         {ask(`{"q":{"method":"elicitation/create","params":{"mode":"phone"}}}`), CodeInvalidReply, "mode"},
		"state":        {`"result":{"resultType":"input_required","requestState":{}}`, CodeInvalidReply, "requestState"},
		"large state":  {`"result":{"resultType":"input_required","inputRequests":{"q":` + urlQuestion + `},"requestState":"` + strings.Repeat("s", 65<<10) + `"}`, CodeInvalidReply, "asks to keep"},
		"javascript":   {page("javascript:alert(1)"), CodeInvalidReply, "URL"},
		"plain http":   {page("http://example.com"), CodeInvalidReply, "URL"},
		"user name":    {page("https://bank.example@evil.example/"), CodeInvalidReply, "URL"},
		"line break":   {page(`https://a.example/\n`), CodeInvalidReply, "URL"},
		"no schema":    {ask(`{"q":{"method":"elicitation/create","params":{"message":"m"}}}`), CodeInvalidReply, "schema"},
		"nested":       {form(`{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`), CodeInvalidReply, `uses "properties"`},
		"list":         {form(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`), CodeInvalidReply, "expected choices"},
		"reference":    {form(`{"type":"object","properties":{"a":{"$ref":"https://evil.example"}}}`), CodeInvalidReply, `uses "$ref"`},
		"many fields":  {form(`{"type":"object","properties":{` + strings.TrimSuffix(fields(maxFormFields+1), ",") + `}}`), CodeInvalidReply, "101 fields"},
		"large schema": {form(`{"type":"object","description":"` + strings.Repeat("d", maxFormSchema) + `"}`), CodeInvalidReply, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			w := inquirer(t, "inquirer", c.answer)
			e := w.refuse(t, t.Context(), "ask", "t", `{}`)
			if e.Code != c.code || !strings.Contains(e.Message, c.text) || !strings.Contains(e.Message, "MCP server ask") {
				t.Errorf("%+v", e)
			}
			w.call(t, "ask", "t", `{}`) // the connection stays
		})
	}
}

func fields(n int) (out string) {
	for i := range n {
		out += fmt.Sprintf(`"f%d":{"type":"string"},`, i)
	}
	return out
}

// TestAServerThatWantsAVisit: the error of 2025-11-25 is a question too, and a person who
// does not agree ends the call without another request.
func TestAServerThatWantsAVisit(t *testing.T) {
	t.Parallel()
	w := inquirer(t, "legacy-inquirer", `"error":{"code":-32042,"message":"first visit","data":{"elicitations":[{"mode":"url","elicitationId":"v1","url":"https://a.example/x","message":"Visit."}]}}`)
	r := Request{Server: "ask", Tool: "t", Input: json.RawMessage(`{}`)}
	ask := w.asked(t, r)
	want := []codemode.Question{{ID: "v1", Kind: codemode.QuestionURL, From: "ask", Message: "Visit.", URL: "https://a.example/x"}}
	if diff := cmp.Diff(want, ask.Questions); diff != "" {
		t.Fatal(diff)
	}
	r.Resumption = &codemode.Resumption{State: ask.State, Answers: map[string]codemode.QuestionAnswer{"v1": {Action: codemode.AnswerAccept}}}
	w.asked(t, r) // the server is asked again, and still wants it
	r.Resumption.Answers["v1"] = codemode.QuestionAnswer{Action: codemode.AnswerCancel}
	_, err := w.Call(t.Context(), r)
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeDeclined || e.Unknown {
		t.Errorf("%v", err)
	}
}

// stateless serves 2026-07-28 over HTTP.
func stateless(s *sdk.Server) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true})
	}
}

// TestAskingByAnAnswerOverHTTP does the same with a server made with the SDK.
func TestAskingByAnAnswerOverHTTP(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult)
		if !ok {
			return &sdk.CallToolResult{RequestState: "state", InputRequests: sdk.InputRequestMap{"name": &sdk.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}}}, nil
		}
		return result(map[string]any{"name": answer.Content["name"], "state": r.Params.RequestState}), nil
	})
	w := connect(t, Options{}, Server{Name: "ask", URL: serveHTTP(t, server, stateless(server))})
	r := Request{Server: "ask", Tool: "greet", Input: json.RawMessage(`{}`)}
	ask := w.asked(t, r)
	r.Resumption = &codemode.Resumption{State: ask.State, Answers: map[string]codemode.QuestionAnswer{"name": {Action: codemode.AnswerAccept, Content: json.RawMessage(`{"name":"Ada"}`)}}}
	raw, err := w.Call(t.Context(), r)
	if err != nil || !strings.Contains(string(raw), `"name":"Ada"`) || !strings.Contains(string(raw), `"state":"state"`) {
		t.Errorf("%s, %v", raw, err)
	}
}
