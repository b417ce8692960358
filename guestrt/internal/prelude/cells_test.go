package prelude_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/quoinhq/quoin/internal/wire"
)

// A file of cells is a list of chunks. Each starts with a line "//// name",
// then come the cell and what is expected of it, in comments at line starts:
//
//	//=> json            the cell returns this value
//	//! Name: message    the cell fails so; "…" at the end leaves the rest open
//	//kind word          the kind of the failure
//	//idle               the cell ends waiting for nothing
//	//out json           the next output item, as ["text", ...] or ["json", ...]
//	//req json           the next request, as [method, target, ...]
//	//: reverse          the host answers calls in the opposite order
//	//: limits {...}     the limits of the run
//
// The cells in testdata/js run on every machine, those in testdata/js/clock where
// time can be made to pass, those in testdata/js/engine in the engine that ships.
//
// In a chunk "//// table name" every line is a cell of one expression, followed
// by its "//=>" or "//!".

// cell is one program and what is expected of it.
type cell struct {
	name, source, limits  string
	reverse, idle         bool
	value, err, kind      string
	outputs, requests     []string
	wantOutput, wantCalls bool
}

func (c *cell) expectations() int {
	n := len(c.outputs) + len(c.requests)
	for _, s := range []string{c.value, c.err, c.kind} {
		if s != "" {
			n++
		}
	}
	if c.idle {
		n++
	}
	return n
}

func readCells(t *testing.T, pattern string) map[string][]*cell {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no cells match %s: %v", pattern, err)
	}
	files := map[string][]*cell{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(name), ".js")] = parseCells(t, name, string(text))
	}
	return files
}

func parseCells(t *testing.T, file, text string) (cells []*cell) {
	t.Helper()
	var current *cell
	table := ""
	for i, line := range strings.Split(text, "\n") {
		if name, ok := strings.CutPrefix(line, "//// "); ok {
			current, table = nil, ""
			if name, ok := strings.CutPrefix(name, "table "); ok {
				table = name
				continue
			}
			current = &cell{name: name}
			cells = append(cells, current)
			continue
		}
		switch {
		case table != "" && strings.TrimSpace(line) != "":
			c := parseRow(t, fmt.Sprintf("%s:%d", file, i+1), line)
			c.name = fmt.Sprintf("%s/%d", table, i+1)
			cells = append(cells, c)
		case current != nil && !parseExpectation(t, current, line):
			current.source += line + "\n"
		}
	}
	for _, c := range cells {
		if c.expectations() == 0 {
			t.Fatalf("%s: %s expects nothing", file, c.name)
		}
	}
	return cells
}

func parseRow(t *testing.T, at, line string) *cell {
	t.Helper()
	for _, mark := range []string{"//=> ", "//! "} {
		if source, want, ok := strings.Cut(line, mark); ok {
			c := &cell{source: "return (" + source + ")"}
			parseExpectation(t, c, mark+want)
			return c
		}
	}
	t.Fatalf("%s: a row without //=> or //!", at)
	return nil
}

func parseExpectation(t *testing.T, c *cell, line string) bool {
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "//=>":
		c.value = compact(t, rest)
	case "//!":
		c.err = rest
	case "//kind":
		c.kind = rest
	case "//idle":
		c.idle = true
	case "//out":
		c.outputs, c.wantOutput = append(c.outputs, compact(t, rest)), true
	case "//req":
		c.requests, c.wantCalls = append(c.requests, compact(t, rest)), true
	case "//:":
		option, value, _ := strings.Cut(rest, " ")
		switch option {
		case "reverse":
			c.reverse = true
		case "limits":
			c.limits = value
		case "silent":
			c.wantOutput, c.wantCalls = true, true
		default:
			t.Fatalf("%s: unknown option %s", c.name, option)
		}
	default:
		return false
	}
	return true
}

// compact drops insignificant space and writes strings in Go's way, so that
// equal JSON texts are equal strings. Key order is kept.
func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b.String()
}

func (c *cell) config() string {
	limits := c.limits
	if limits == "" {
		limits = "{}"
	}
	return fmt.Sprintf(`{"file":"cell.js","namespaces":%s,"limits":%s}`, hostNamespaces, limits)
}

func (c *cell) check(t *testing.T, m machine) {
	t.Helper()
	got := run(t, m, c.source, c.config(), c.reverse)
	c.checkEnd(t, got)
	if c.wantOutput {
		if diff := cmp.Diff(c.outputs, got.output); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	}
	if c.wantCalls {
		var calls []string
		for _, q := range got.requests {
			calls = append(calls, requestText(t, q))
		}
		if diff := cmp.Diff(c.requests, calls); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
}

func (c *cell) checkEnd(t *testing.T, got outcome) {
	t.Helper()
	switch {
	case got.idle:
		if !c.idle {
			t.Errorf("the cell waits for nothing")
		}
	case got.Status == wire.StatusDone:
		if c.err != "" || c.idle {
			t.Errorf("the cell returned %s, want failure %q", got.Value, c.err)
		} else if c.value != "" && got.Value != c.value {
			t.Errorf("value\n got %s\nwant %s", got.Value, c.value)
		}
	default:
		line := got.Err.Message
		if got.Err.Name != "" {
			line = got.Err.Name + ": " + line
		}
		if c.err == "" {
			t.Fatalf("the cell failed: %s\n%s", line, got.Err.Stack)
		}
		if head, open := strings.CutSuffix(c.err, "…"); line != c.err && !(open && strings.HasPrefix(line, head)) {
			t.Errorf("failure\n got %s\nwant %s", line, c.err)
		}
		if c.kind != "" && got.Err.Kind != "" && c.kind != got.Err.Kind {
			t.Errorf("kind %q, want %q", got.Err.Kind, c.kind)
		}
	}
}

func requestText(t *testing.T, q wire.Request) string {
	t.Helper()
	fields := []any{q.Method, q.Target}
	if q.Method == wire.MethodNamespace || q.Method == wire.MethodMCP {
		fields = append(fields, q.Path)
	}
	if q.Args != nil {
		fields = append(fields, json.RawMessage(q.Args))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(fields); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func TestCells(t *testing.T) {
	expectations := 0
	for _, pattern := range []string{"testdata/js/*.js", "testdata/js/clock/*.js"} {
		for file, cells := range readCells(t, pattern) {
			for _, c := range cells {
				expectations += c.expectations()
				t.Run(file+"/"+c.name, func(t *testing.T) { c.check(t, newPlain(t)) })
			}
		}
	}
	if expectations < 150 {
		t.Errorf("%d expectations in testdata", expectations)
	}
	t.Logf("%d expectations", expectations)
}
