package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// oddities reads messages of one server that are not quite what the protocol has. The log
// names each kind once. A nil pointer reads them, too.
type oddities struct {
	log  *slog.Logger
	mu   sync.Mutex
	told map[string]bool
}

// maxOddities is how many kinds the log has of one server.
const maxOddities = 50

func newOddities(log *slog.Logger) *oddities { return &oddities{log: log, told: map[string]bool{}} }

// note logs what a server sends.
func (o *oddities) note(what string) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told[what] || len(o.told) >= maxOddities {
		return
	}
	o.told[what] = true
	o.log.Warn("an MCP server sends what the protocol does not have, and Quoin makes the best of it", "what", what)
}

// decode returns a message, and whether it is not the text as it came. An error without an id
// is the answer to the request that only names; only may be nil.
func (o *oddities) decode(text []byte, only func() (jsonrpc.ID, bool)) (m jsonrpc.Message, mended bool, err error) {
	if !utf8.Valid(text) {
		o.note("bytes that are no UTF-8, which U+FFFD replaces")
		text, mended = bytes.ToValidUTF8(text, []byte("\uFFFD")), true
	}
	m, err = jsonrpc.DecodeMessage(text)
	if err == nil {
		return m, mended, nil
	}
	plain, odd := plainJSON(text)
	whole, more := wholeAnswer(plain, only)
	m, second := jsonrpc.DecodeMessage(whole)
	if second != nil {
		return nil, false, err
	}
	for _, what := range append(odd, more...) {
		o.note(what)
	}
	return m, true, nil
}

// tidied returns an answer over the network as the SDK reads it. It starts the session if it is
// for no call.
func (o *oddities) tidied(text []byte, of *capture) []byte {
	m, mended, err := o.decode(text, of.sole)
	if err != nil {
		return text
	}
	if answer, ok := m.(*jsonrpc.Response); ok {
		if id := ownID(answer.ID); id != answer.ID {
			answer.ID, mended = id, true
		}
		if of == nil && answer.Error == nil {
			before := answer.Result
			answer.Result = o.introduction(before)
			mended = mended || !bytes.Equal(before, answer.Result)
		}
	}
	if !mended {
		return text
	}
	fixed, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return text
	}
	return fixed
}

// plainJSON replaces what some encoders write and JSON does not have.
func plainJSON(text []byte) (plain []byte, odd []string) {
	wild := []string{"NaN", "Infinity", "-Infinity"}
	numbers, controls := false, false
	inString, escaped := false, false
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case inString && !escaped && b < ' ':
			plain, controls = fmt.Appendf(plain, `\u%04x`, b), true
			continue
		case inString:
			inString, escaped = escaped || b != '"', !escaped && b == '\\'
		case b == '"':
			inString = true
		case b == 'N' || b == 'I' || b == '-':
			if n := leading(text[i:], wild); n > 0 {
				plain, numbers = append(plain, "null"...), true
				i += n - 1
				continue
			}
		}
		plain = append(plain, b)
	}
	if numbers {
		odd = append(odd, "NaN or Infinity, which JSON does not have; null replaces them")
	}
	if controls {
		odd = append(odd, "control characters in texts, which JSON has escaped")
	}
	return plain, odd
}

// leading returns the length of the word that a text starts with, 0 without one.
func leading(text []byte, words []string) int {
	for _, w := range words {
		if bytes.HasPrefix(text, []byte(w)) {
			return len(w)
		}
	}
	return 0
}

// wholeAnswer returns an answer in the form of the protocol. What is no answer, such as a line
// of a log, is returned as it is.
func wholeAnswer(text []byte, only func() (jsonrpc.ID, bool)) (whole []byte, odd []string) {
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil || m["result"] == nil && m["error"] == nil {
		return text, nil
	}
	for name := range m {
		if name != "jsonrpc" && name != "id" && name != "result" && name != "error" {
			return text, nil
		}
	}
	if version := m["jsonrpc"]; string(version) != `"2.0"` {
		odd = append(odd, "answers with a jsonrpc that is not \"2.0\": "+bounded(string(version), 20))
		m["jsonrpc"] = json.RawMessage(`"2.0"`)
	}
	if raw := m["error"]; raw != nil && string(raw) != "null" {
		refusal, what := refusalIn(raw)
		m["error"], odd = refusal, append(odd, what...)
		if id := m["id"]; only != nil && (id == nil || string(id) == "null") {
			if of, ok := only(); ok {
				odd = append(odd, "errors without the id of the request")
				m["id"], _ = json.Marshal(of.Raw()) // cannot fail: it is a number or a text
			}
		}
	}
	whole, err := json.Marshal(m)
	if err != nil {
		return text, nil
	}
	return whole, odd
}

// refusalIn returns an error in the form of the protocol, with the words of the server.
func refusalIn(raw json.RawMessage) (refusal json.RawMessage, odd []string) {
	var e struct {
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &e) != nil {
		e.Message, odd = raw, append(odd, "errors that are no objects")
	}
	out := jsonrpc.Error{Message: wordsOf(e.Message), Data: e.Data}
	code, err := strconv.ParseFloat(string(e.Code), 64)
	switch {
	case err == nil && code == math.Trunc(code) && math.Abs(code) < 1<<53:
		out.Code = int64(code)
	case wordsOf(e.Code) != "":
		out.Message, odd = wordsOf(e.Code)+": "+out.Message, append(odd, "errors with a code that is no integer")
	}
	refusal, err = json.Marshal(&out)
	if err != nil {
		return raw, nil
	}
	return refusal, odd
}

// wordsOf returns a text, or any other value as JSON; "" for null.
func wordsOf(raw json.RawMessage) string {
	if s := textOf(raw); s != "" || len(raw) == 0 || raw[0] == '"' || string(raw) == "null" {
		return s
	}
	return string(compact(raw))
}

// result returns the result of a tool as an object: some servers send its content alone.
func (o *oddities) result(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || raw[0] == '{' {
		return raw
	}
	content := o.content(raw)
	if content == nil {
		return raw
	}
	o.note("results that are no objects")
	return append(append(json.RawMessage(`{"content":`), content...), '}')
}

// content returns the content of a result as a list of blocks; nil if it is not like one.
func (o *oddities) content(raw json.RawMessage) json.RawMessage {
	isBlock := func(raw json.RawMessage) bool {
		var block struct {
			Type string `json:"type"`
		}
		return json.Unmarshal(raw, &block) == nil && block.Type != ""
	}
	var blocks []json.RawMessage
	switch {
	case string(raw) == "null": // a list without values, of a server in Go
		return json.RawMessage("[]")
	case raw[0] == '"':
		o.note("a text as content, not a list")
		return append(append(json.RawMessage(`[{"type":"text","text":`), raw...), "}]"...)
	case isBlock(raw):
		o.note("one block as content, not a list")
		return append(append(json.RawMessage("["), raw...), ']')
	case json.Unmarshal(raw, &blocks) == nil && !slices.ContainsFunc(blocks, func(b json.RawMessage) bool { return !isBlock(b) }):
		return raw
	}
	return nil
}
