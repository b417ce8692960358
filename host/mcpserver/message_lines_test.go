package mcpserver

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// throughLines returns what is read of a stream, and what is answered.
func throughLines(t *testing.T, stream string) (read, answered string) {
	t.Helper()
	var out bytes.Buffer
	b, err := io.ReadAll(newMessageLines(io.NopCloser(strings.NewReader(stream)), 200, &out, slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b), out.String()
}

// TestLinesThatAreNoMessages are answered, and what follows them is read.
func TestLinesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, tc := range []struct{ name, line, id, code string }{
		{"no JSON", `{oops`, `null`, `-32700`},
		{"words", `hello`, `null`, `-32700`},
		{"half a message", `{"jsonrpc":"2.0","id":1,`, `null`, `-32700`},
		{"two messages", ping + ping, `null`, `-32700`},
		{"no UTF-8", "\xff\xfe", `null`, `-32700`},
		{"a number", `5`, `null`, `-32600`},
		{"null", `null`, `null`, `-32600`},
		{"an object", `{}`, `null`, `-32600`},
		{"another version", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, `7`, `-32600`},
		{"without a version", `{"id":"a","method":"ping"}`, `"a"`, `-32600`},
		{"a method that is no text", `{"jsonrpc":"2.0","id":7,"method":7}`, `7`, `-32600`},
		{"an id that is none", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `null`, `-32600`},
		{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `null`, `-32600`},
		{"an id that is too large", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `9007199254740993`, `-32600`},
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `1.5`, `-32600`},
		{"a batch of batches", `[[` + ping + `]]`, `null`, `-32600`},
		{"a long batch", `[` + strings.Repeat("1,", 64) + `1]`, `null`, `-32600`},
		{"an empty batch", `[]`, `null`, `-32600`},
		{"a long line", `"` + strings.Repeat("x", 100_000) + `"`, `null`, `-32600`},
		{"a failure without an id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`, ``, ``},
		{"an empty line", "  \t", ``, ``},
	} {
		read, answered := throughLines(t, tc.line+"\r\n"+ping+"\n")
		if read != ping+"\n" {
			t.Errorf("%s: %q was read", tc.name, read)
		}
		var answer struct {
			JSONRPC string
			ID      json.RawMessage
			Error   struct {
				Code    json.RawMessage
				Message string
			}
		}
		switch err := json.Unmarshal([]byte(answered), &answer); {
		case tc.code == "" && answered == "":
		case err != nil || answer.JSONRPC != "2.0" || string(answer.ID) != tc.id || string(answer.Error.Code) != tc.code || answer.Error.Message == "":
			t.Errorf("%s: answered %q", tc.name, answered)
		}
	}
	const more = `{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":-9007199254740991,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1.0,"method":"ping"}` + "\n"
	if read, answered := throughLines(t, more); read != more || answered != "" {
		t.Errorf("%q was read, and %q answered", read, answered)
	}
	for _, stream := range []string{"\ufeff" + ping, "[" + ping + "]\n", "[" + ping + ",7]\n"} { // a last line without its end is one
		if read, _ := throughLines(t, stream); read != ping+"\n" {
			t.Errorf("%q: %q was read", stream, read)
		}
	}
}

// FuzzMessageLines: whatever a client sends, each line that is read on is a message.
func FuzzMessageLines(f *testing.F) {
	f.Add("{oops\n5\n[]\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
	f.Fuzz(func(t *testing.T, stream string) {
		read, answered := throughLines(t, stream)
		for line := range strings.Lines(read) {
			if _, err := jsonrpc.DecodeMessage([]byte(line)); err != nil {
				t.Errorf("%q is read on: %v", line, err)
			}
		}
		for line := range strings.Lines(answered) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%q is answered", line)
			}
		}
	})
}
