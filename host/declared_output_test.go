package host_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// lines collects what is logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), part)
}

// TestOutputsThatAreNotAsDeclared reach the program, and the operator hears of
// each tool once.
func TestOutputsThatAreNotAsDeclared(t *testing.T) {
	t.Parallel()
	var log lines
	sloppy, exact := echo("sloppy"), echo("exact")
	sloppy.Output = json.RawMessage(`{"type":"object","required":["items"]}`)
	exact.Output = json.RawMessage(`{"type":"object","required":["items"]}`)
	h := start(t, host.Config{Tools: []catalog.Tool{sloppy, exact}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	wantValue(t, exec(h, `return [await tools.sloppy({n: 1}), await tools.sloppy({n: 2}), await tools.exact({items: []})]`),
		`[{"n":1},{"n":2},{"items":[]}]`)
	if err := h.Close(); err != nil { // the last answer is compared once it is given
		t.Fatal(err)
	}
	const said = "returns what it does not declare"
	if log.count(said) != 1 || log.count("quoin:core:sloppy") == 0 || log.count("quoin:core:exact") != 0 {
		t.Errorf("the log says %s", log.b.String())
	}
}

func TestDescribeSaysWhatComesBack(t *testing.T) {
	t.Parallel()
	tool := echo("list")
	tool.Output = json.RawMessage(`{"type":"object","properties":{"items":{"type":"array"}}}`)
	tool.Examples = []catalog.Example{{Description: "All", Input: json.RawMessage(`{}`), Output: json.RawMessage(`{"items":[]}`)}}
	h := start(t, host.Config{Tools: []catalog.Tool{tool, echo("plain")}})
	wantValue(t, exec(h, `const d = await tools.describe("list"), p = await tools.describe("plain"); return [d.parameters, d.output, d.examples, p.parameters, p.output]`),
		`[{},{"type":"object","properties":{"items":{"type":"array"}}},[{"description":"All","input":{},"output":{"items":[]}}],{},null]`)
}
