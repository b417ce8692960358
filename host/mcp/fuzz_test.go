package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// FuzzPage: whatever a server lists, what is kept has a usable name and schema.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`))
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"a"},7],"nextCursor":"x"}`))
	f.Fuzz(func(t *testing.T, page []byte) {
		l := &listing{server: &Server{Name: "s", TrustHints: true}, log: slog.New(slog.DiscardHandler), offered: pinnedTools{}, names: map[string]bool{}}
		if _, err := l.page(page); err != nil {
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
		c := newLineConn(nil, nil, newLineLog(slog.New(slog.DiscardHandler), time.Now, nil), func() {})
		id, err := jsonrpc.MakeID(float64(1))
		if err != nil {
			t.Fatal(err)
		}
		mine := &capture{}
		c.captures[id] = mine
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

// FuzzEvents: however a stream is cut into pieces, it is passed on unchanged, and
// the same result is found in it.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"), uint8(3))
	f.Add([]byte("id: 1\r\ndata: {\"id\":1,\r\ndata: \"result\":[]}\r\n\r\n: x\n\n"), uint8(1))
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
		_, other := read(int(step) + 1)
		if !bytes.HasPrefix(stream, whole) || string(one) != string(other) {
			t.Errorf("read %q, results %q and %q", whole, one, other)
		}
	})
}

// FuzzPins: what is pinned of any tool reads back from a file as the same, so that a tool
// that did not change is not quarantined.
func FuzzPins(f *testing.F) {
	f.Add([]byte(`{"name":"t","description":"<\u2028>","inputSchema":{"b":1.0,"a":[1e400,null]}}`))
	f.Add([]byte(`{"name":"t","inputSchema":{"a":1,"a":2," ":"\ud800"},"annotations":7,"title":null}`))
	f.Fuzz(func(t *testing.T, tool []byte) {
		l := &listing{server: &Server{Name: "s"}, log: slog.New(slog.DiscardHandler), offered: pinnedTools{}, names: map[string]bool{}}
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
