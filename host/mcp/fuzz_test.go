package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
)

// FuzzPage: whatever a server lists, what is kept has a usable name and schema.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`))
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"a"},7],"nextCursor":"x"}`))
	f.Fuzz(func(t *testing.T, page []byte) {
		l := &listing{server: &Server{Name: "s", TrustHints: true}, log: slog.New(slog.DiscardHandler), offered: pinnedTools{}}
		if _, err := l.page(page, 1); err != nil {
			return
		}
		seen := map[string]bool{}
		for _, tool := range l.tools {
			if seen[tool.Name] || !usableName(tool.Name) || len(tool.Description) > maxDescription {
				t.Errorf("kept %+v", tool)
			}
			seen[tool.Name] = true
			var object map[string]any
			if json.Unmarshal(tool.Input, &object) != nil || tool.Output != nil && json.Unmarshal(tool.Output, &object) != nil {
				t.Errorf("schemas %s, %s", tool.Input, tool.Output)
			}
		}
	})
}

// FuzzLine: no line makes the connection fail, and what is handed on is a message.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"x"}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":`))
	f.Fuzz(func(t *testing.T, line []byte) {
		c := newLineConn(nil, nil, nil, newLineLog(slog.New(slog.DiscardHandler), time.Now, nil), func() {})
		id, err := jsonrpc.MakeID(float64(1))
		if err != nil {
			t.Fatal(err)
		}
		mine := &capture{}
		c.open[id] = mine
		messages := c.decode(line)
		if messages == nil {
			c.rejectLine(line)
		}
		for _, m := range messages {
			if _, err := c.admit(m); err != nil {
				t.Fatal(err)
			}
		}
		if r := mine.taken(); r != nil && !json.Valid(r) {
			t.Errorf("captured %q", r)
		}
	})
}

// FuzzEvents: however a stream is cut into pieces, the same is passed on, and the same result
// is found in it.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"), uint8(3))
	f.Add([]byte("id: 1\r\ndata: {\"id\":1,\r\ndata: \"result\":[]}\r\n\r\n: x\n\n"), uint8(1))
	f.Add([]byte("\uFEFFdata: {\"id\":1,\"result\":{}}\r\r: x\r\n\n"), uint8(0))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		read := func(size int) ([]byte, json.RawMessage) {
			mine := &capture{}
			b := &eventBody{body: io.NopCloser(bytes.NewReader(stream)), left: maxStream, answer: mine}
			var out []byte
			buf := make([]byte, size)
			for {
				n, err := b.Read(buf)
				out = append(out, buf[:n]...)
				if err != nil {
					return out, mine.taken()
				}
			}
		}
		whole, one := read(len(stream) + 1)
		pieces, other := read(int(step) + 1)
		if !bytes.Equal(whole, pieces) || string(one) != string(other) {
			t.Errorf("read %q and %q, results %q and %q", whole, pieces, one, other)
		}
	})
}

// FuzzPins: what is pinned of any tool reads back from a file as the same, so that a tool
// that did not change is not quarantined.
func FuzzPins(f *testing.F) {
	f.Add([]byte(`{"name":"t","description":"<\u2028>","inputSchema":{"b":1.0,"a":[1e400,null]}}`))
	f.Add([]byte(`{"name":"t","inputSchema":{"a":1,"a":2," ":"\ud800"},"annotations":7,"title":null}`))
	f.Fuzz(func(t *testing.T, tool []byte) {
		l := &listing{server: &Server{Name: "s"}, log: slog.New(slog.DiscardHandler), offered: pinnedTools{}}
		if !json.Valid(tool) {
			return
		}
		l.add(tool)
		text, err := formatPins(l.offered, "s")
		if err != nil {
			t.Fatal(err)
		}
		again, err := parsePins(text, "s")
		if err != nil {
			t.Fatal(err)
		}
		if changes := again.changes(l.offered); len(changes) > 0 {
			t.Errorf("read back as %+v from %s", changes, text)
		}
		findingsOf(again)
	})
}

// FuzzPinFile: no file of pins makes its reader fail in another way than by an error.
func FuzzPinFile(f *testing.F) {
	f.Add([]byte(`{"format":1,"server":"s","tools":{"t":{"description":"d"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if tools, err := parsePins(text, "s"); err == nil {
			findingsOf(tools)
		}
	})
}

// FuzzQuestions: whatever a server asks, what is put to a person is a form of flat fields or
// a page, within bounds, and survives the run's record.
func FuzzQuestions(f *testing.F) {
	f.Add([]byte(`{"q":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}}}}`))
	f.Add([]byte(`{"q":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example/?q","message":"\u202e"}}}`))
	f.Add([]byte(`{"q":{"method":"roots/list"}}`))
	f.Fuzz(func(t *testing.T, requests []byte) {
		questions, err := questionsOf("s", requests)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, q := range questions {
			form := q.Kind == codemode.QuestionForm && q.URL == "" && json.Valid(q.Schema) && len(q.Schema) <= maxFormSchema
			page := q.Kind == codemode.QuestionURL && q.Schema == nil && (strings.HasPrefix(strings.ToLower(q.URL), "https://") || strings.HasPrefix(strings.ToLower(q.URL), "http://")) && len(q.URL) <= maxQuestionURL
			if seen[q.ID] || q.ID == "" || q.From != "s" || len(q.Message) > maxQuestionText || form == page {
				t.Errorf("%+v", q)
			}
			seen[q.ID] = true
		}
		var ask *codemode.InputRequired
		if err := inputRequired(questions, resumeState{Kind: resumeCall}); !errors.As(err, &ask) {
			t.Fatal(err)
		}
		if again, err := resumptionOf(&codemode.Resumption{State: ask.State}); err != nil || again.Kind != resumeCall {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

// callOf is a call of the tool t of a server.
func callOf(p peer) *call {
	return &call{&standing{peer: &p}, Request{Tool: "t"}}
}

// FuzzAnswer: every answer of a server is a result, a question, a task or an error with a
// code.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example"}}},"requestState":"s"}`))
	f.Add([]byte(`{"resultType":"task","taskId":"t","pollIntervalMs":-1,"ttlMs":null}`))
	f.Add([]byte(`{"content":[],"isError":true}`))
	s := (Server{Name: "s"}).withDefaults()
	f.Fuzz(func(t *testing.T, answer []byte) {
		c := callOf(peer{name: "s", server: s, options: Options{times: defaultTimes}})
		if inspect(answer) != nil {
			return
		}
		reply, err := c.interpret(true, &Tool{Name: "t"}, answer)
		var failed *Error
		var ask *codemode.InputRequired
		switch {
		case errors.As(err, &failed) && failed.Code != "" || errors.As(err, &ask) && len(ask.Questions) > 0:
		case err != nil:
			t.Errorf("an error without a code: %v", err)
		case reply.task != nil && (reply.task.Poll < defaultTimes.minPoll || reply.task.Poll > defaultTimes.maxPoll || reply.task.ID == ""):
			t.Errorf("task %+v", reply.task)
		case reply.raw != nil && (!json.Valid(reply.raw) || reply.raw[0] != '{'):
			t.Errorf("the result became %s", reply.raw)
		}
	})
}

// FuzzTaskState: every state of a task is one of working, over, or asking.
func FuzzTaskState(f *testing.F) {
	f.Add([]byte(`{"taskId":"t","status":"completed","result":{}}`))
	f.Add([]byte(`{"taskId":"t","status":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example"}}}}`))
	f.Add([]byte(`{"taskId":"t","status":"failed","error":{"code":1e2,"message":"m"}}`))
	s := (Server{Name: "s"}).withDefaults()
	f.Fuzz(func(t *testing.T, text []byte) {
		var state taskState
		if inspect(text) != nil || json.Unmarshal(text, &state) != nil {
			return
		}
		c := callOf(peer{name: "s", server: s})
		raw, over, err := c.progress(&task{ID: "t"}, &state, nil)
		if over == (raw == nil && err == nil) || !over && state.Status != "working" && state.Status != "input_required" {
			t.Errorf("%s is over: %v, with %s, %v", text, over, raw, err)
		}
	})
}

// FuzzVisit: the error by which a server wants a visit first is a question or an error.
func FuzzVisit(f *testing.F) {
	f.Add([]byte(`{"elicitations":[{"mode":"url","url":"https://a.example","elicitationId":"e","message":"m"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := callOf(peer{name: "s"})
		err := c.visitFirst(&Tool{Name: "t"}, &jsonrpc.Error{Code: sdk.CodeURLElicitationRequired, Data: data})
		var failed *Error
		var ask *codemode.InputRequired
		if !errors.As(err, &ask) && !errors.As(err, &failed) {
			t.Errorf("%s became %v", data, err)
		}
	})
}
