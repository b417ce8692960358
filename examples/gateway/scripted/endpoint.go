// Package scripted is a model with replies that are written beforehand, behind the APIs
// of OpenAI (chat completions, responses) and Anthropic (messages) as they are on the
// wire, server-sent events included. It is for demonstrations and tests of gateways.
//
// # Nouns
//
// An Endpoint serves the three APIs. A Turn is what the model replies once it has been
// asked; its position in the Script is how often the conversation has the model reply
// already, so that an Endpoint keeps nothing of a conversation. A Fault is a failure of
// the service.
//
// # Concurrency and failure
//
// An Endpoint is safe for concurrent use if its Turns are. A request that is not as the
// API wants it, or shows a model what it should not see, is refused, and Problems has it.
package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// Endpoint is a model service. Set the fields before the first request.
type Endpoint struct {
	// Script has the model's replies, in order.
	Script []Turn
	// Key is what requests have to bring.
	Key string
	// Tools are the names that each request has to show. Defaults to exec and wait.
	Tools []string
	// Faults are failures of requests, by their number from 1.
	Faults map[int]Fault

	mu       sync.Mutex
	requests int
	problems []error
	tools    map[string]string // of the first request to each API
}

// Turn is what the model replies to a conversation. An error is a problem of the
// conversation, such as an unexpected result of a call.
type Turn func(Conversation) (Reply, error)

// Reply is one reply of the model.
type Reply struct {
	Text  string
	Calls []Call
}

// Call is one tool call of a reply. Its ID is made by the Endpoint.
type Call struct {
	ID, Name  string
	Arguments string // JSON
}

// Fault is a failure of the service: an HTTP status in place of a reply, or a reply that
// is cut off after some events.
type Fault struct {
	Status     int
	RetryAfter int // seconds
	CutAfter   int
}

// Conversation is a request as the model sees it.
type Conversation struct {
	Instructions string
	Messages     []Message
}

// Message is what one side has said.
type Message struct {
	Role    string // user, assistant or tool
	Text    string
	Calls   []Call
	Results []Result
}

// Result answers a call.
type Result struct {
	CallID  string
	Content string
}

// Last returns the results that the model has not replied to yet.
func (c Conversation) Last() []Result {
	var out []Result
	for _, m := range slices.Backward(c.Messages) {
		if m.Role != "tool" {
			break
		}
		out = append(slices.Clone(m.Results), out...)
	}
	return out
}

// replies is how often the model has replied.
func (c Conversation) replies() int {
	n := 0
	for _, m := range c.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// Problems returns what was wrong with requests so far, and with conversations.
func (e *Endpoint) Problems() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(e.problems...)
}

// Requests is how many requests there have been.
func (e *Endpoint) Requests() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests
}

// wireAPI is one of the three APIs.
type wireAPI struct {
	name  string
	key   func(*http.Request) string
	read  func(body gjson.Result, p *payload) error
	write func(s *events, id string, r Reply)
}

// payload is a request in the words that the APIs share.
type payload struct {
	Conversation
	tools []definition
}

type definition struct{ name, description, schema gjson.Result }

// addTool takes the definition of a tool that has its schema in a field of that name.
func (p *payload) addTool(t gjson.Result, schema string) {
	p.tools = append(p.tools, definition{t.Get("name"), t.Get("description"), t.Get(schema)})
}

// readText reads content that is a text or a list of parts.
func readText(content gjson.Result) (text string) {
	if !content.IsArray() {
		return content.String()
	}
	for _, part := range content.Array() {
		text += part.Get("text").String()
	}
	return text
}

// object is a JSON object that is written.
type object = map[string]any

var apis = map[string]wireAPI{
	"/v1/chat/completions": {"chat completions", bearer, readChat, writeChat},
	"/v1/responses":        {"responses", bearer, readResponses, writeResponses},
	"/v1/messages":         {"messages", func(r *http.Request) string { return r.Header.Get("X-Api-Key") }, readMessages, writeMessages},
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

const maxRequest = 32 << 20

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api, ok := apis[r.URL.Path]
	if !ok || r.Method != http.MethodPost {
		refuse(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path)
		return
	}
	number := e.count()
	if api.key(r) != e.Key {
		refuse(w, http.StatusUnauthorized, "the key is wrong")
		return
	}
	fault := e.Faults[number]
	if fault.Status != 0 {
		if fault.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
		}
		refuse(w, fault.Status, "the service has a fault")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var reply Reply
	if err == nil {
		reply, err = e.reply(api, body)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, e.problem(fmt.Errorf("request %d (%s): %w", number, api.name, err)).Error())
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s := &events{w: w, left: -1}
	if fault.CutAfter > 0 {
		s.left = fault.CutAfter
	}
	api.write(s, strconv.Itoa(number), reply)
}

func (e *Endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests++
	return e.requests
}

func (e *Endpoint) problem(err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.problems = append(e.problems, err)
	return err
}

// reply checks a request and finds the model's reply.
func (e *Endpoint) reply(api wireAPI, body []byte) (Reply, error) {
	if !gjson.ValidBytes(body) {
		return Reply{}, errors.New("the request is not JSON")
	}
	var p payload
	in := gjson.ParseBytes(body)
	if err := api.read(in, &p); err != nil {
		return Reply{}, err
	}
	if err := errors.Join(e.checkTools(api, in.Get("tools").Raw, p.tools), checkMessages(p.Messages, len(e.Tools) == 0)); err != nil {
		return Reply{}, err
	}
	if in.Get("model").String() == "" || !in.Get("stream").Bool() || p.Instructions == "" {
		return Reply{}, errors.New("a request needs a model, instructions and a stream")
	}
	n := p.replies()
	if n >= len(e.Script) {
		return Reply{}, fmt.Errorf("the script has %d replies, and the conversation wants another", n)
	}
	r, err := e.Script[n](p.Conversation)
	for i := range r.Calls {
		r.Calls[i].ID = fmt.Sprintf("call_%d_%d", n+1, i+1)
	}
	return r, err
}

// refuse answers with an error as all three APIs write it.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(object{"type": "error", "error": object{"type": "scripted", "message": message, "code": "scripted"}})
}

// events writes server-sent events.
type events struct {
	w    http.ResponseWriter
	left int // events until the connection is cut; negative is never
}

// send writes one event; a name may be empty.
func (s *events) send(name string, data any) {
	if s.left == 0 {
		panic(http.ErrAbortHandler) // which resets the connection
	}
	s.left--
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	b, ok := data.(string)
	if !ok {
		text, err := json.Marshal(data)
		if err != nil {
			panic("scripted: an event cannot be encoded: " + err.Error()) // it has texts and numbers
		}
		b = string(text)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", b)
	// A reader that has left is not the model's problem.
	_ = http.NewResponseController(s.w).Flush()
}

// parts cuts a text as models do, into parts of a few characters.
func parts(text string) []string {
	const size = 24
	var out []string
	for part := range slices.Chunk([]rune(text), size) {
		out = append(out, string(part))
	}
	return out
}
