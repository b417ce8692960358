package wire

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite testdata/transcripts")

type line struct {
	from Side
	m    Message
}

func (l line) String() string {
	arrow := ">"
	if l.from == Worker {
		arrow = "<"
	}
	return fmt.Sprintf("%s %v", arrow, l.m.Type())
}

type conversation struct {
	name, comment string
	lines         []line
}

func host(m Message) line   { return line{Host, m} }
func worker(m Message) line { return line{Worker, m} }

var hello = []line{
	host(&Hello{Version: Version, BuildID: [32]byte{0xab, 31: 0xcd}, Required: true}),
	worker(&Ready{Version: Version, EngineID: "engine/1", Layers: []Layer{{"user", LayerOn, "uid 65534"}, {"seccomp", LayerOff, ""}, {"rlimits", LayerFailed, "refused"}}}),
}

var conversations = []conversation{
	{"trivial", "A cell that returns at once.", append(hello,
		host(&Start{Cell: Cell{Language: "javascript", Source: "return 1+1"}, BudgetMicros: 9_950_000}),
		worker(&Report{Status: StatusDone, Value: []byte("2"), TimerMillis: -1, CPUMicros: 120, HeapBytes: 300_000, HeapPeakBytes: 310_000}),
		host(&Reset{}),
		worker(hello[1].m),
	)},
	{"calls", "A cell that calls tools, emits output and fails in the end.", append(hello,
		host(&Start{Cell: Cell{Language: "typescript", Source: "await Issues.list()", Namespaces: []NamespaceRef{{"Issues", "issues"}}, Limits: Limits{}.Filled()}}),
		worker(&Report{
			Requests: []Request{
				{ID: 1, Method: MethodCall, Target: "quoin:core:echo", Args: []byte(`{"a":1}`)},
				{ID: 2, Method: MethodSearch, Target: "files", Args: []byte(`{"limit":3}`)},
				{ID: 3, Method: MethodDescribe, Target: "echo"},
				{ID: 5, Method: MethodNamespace, Target: "issues", Path: []string{"list"}, Args: []byte(`[]`)},
				{ID: 6, Method: MethodYield, Target: "why"},
			},
			Output:  []Output{{OutputText, []byte(`"hé"`)}, {OutputJSON, []byte(`{"b":[null]}`)}},
			Pending: 5, TimerMillis: 250,
		}),
		host(&Turn{Settlements: []Settlement{{1, true, []byte(`"ok"`)}, {5, false, []byte(`{"message":"no","code":"x"}`)}}, BudgetMicros: 1}),
		worker(&Report{Status: StatusFailed, TimerMillis: -1, Err: &GuestError{
			Name: "Error", Message: "no", Stack: "    at cell.ts:1:7", Code: CodeInternal, Reason: ReasonGuestException, Phase: PhaseGuest}}),
	)},
	{"mcp", "A cell that calls an MCP server: a tool, and an operation.", append(hello,
		host(&Start{Cell: Cell{Language: "javascript", Source: "await MCP.docs.resources.list()"}}),
		worker(&NeedFile{"mcp.json"}),
		host(&FileData{true, []byte(`{"servers":[]}`)}),
		worker(&Report{
			Requests: []Request{
				{ID: 1, Method: MethodMCP, Target: "docs", Path: []string{"create-page"}, Args: []byte(`[{"title":"x"}]`)},
				{ID: 2, Method: MethodMCP, Target: "docs", Path: []string{"resources", "list"}, Args: []byte(`[]`)},
			},
			Pending: 2, TimerMillis: -1,
		}),
	)},
	{"cancel", "A cell gives one of two calls up, and both are answered.", append(hello,
		host(&Start{Cell: Cell{Language: "javascript", Source: "tools.a({}, {signal}); tools.b()"}}),
		worker(&Report{
			Requests: []Request{
				{ID: 1, Method: MethodCall, Target: "a", Args: []byte("{}")},
				{ID: 2, Method: MethodCall, Target: "b", Args: []byte("{}")},
				{ID: 3, Method: MethodCancel, Args: []byte("[1]")},
			},
			Pending: 2, TimerMillis: -1,
		}),
		host(&Turn{Settlements: []Settlement{{1, false, []byte(`{"message":"given up"}`)}, {2, true, []byte("1")}}}),
		worker(&Report{Status: StatusDone, Value: []byte("1"), TimerMillis: -1}),
	)},
	{"files", "Virtual files are fetched in the middle of a turn.", append(hello,
		host(&Start{Cell: Cell{Language: "javascript", Source: "return ALL_TOOLS"}}),
		worker(&NeedFile{"catalog.json"}),
		host(&FileData{true, []byte("[]")}),
		worker(&NeedFile{"namespaces/x.json"}),
		host(&FileData{}),
		worker(&Report{Status: StatusDone, Value: []byte("[]"), TimerMillis: -1}),
	)},
	{"suspend", "A guest is taken out of one worker and put into another.", append(hello,
		host(&Snapshot{MaxBytes: 10 << 20}),
		worker(&Image{[]byte("image")}),
		host(&Restore{[]byte("image"), Limits{MemoryBytes: 64 << 20}}),
		worker(&Restored{}),
	)},
	{"replay", "A guest reads a clock, and is run again by the traces of its turns.", append(hello,
		host(&Start{Cell: Cell{Language: "javascript", Source: "await yield_control(Date.now())"}}),
		worker(&Report{Requests: []Request{{ID: 1, Method: MethodYield, Target: "1"}}, Pending: 1, TimerMillis: -1, Trace: []byte{16, 1, 2}}),
		host(&Turn{Settlements: []Settlement{{1, true, []byte("null")}}}),
		worker(&Report{Status: StatusDone, Value: []byte("null"), TimerMillis: -1, Trace: []byte{16}}),
		host(&Reset{}),
		worker(hello[1].m),
		host(&Start{Cell: Cell{Language: "javascript", Source: "await yield_control(Date.now())"}, Trace: []byte{16, 1, 2}}),
		worker(&Report{Requests: []Request{{ID: 1, Method: MethodYield, Target: "1"}}, Pending: 1, TimerMillis: -1}),
		host(&Turn{Settlements: []Settlement{{1, true, []byte("null")}}, Trace: []byte{16}}),
		worker(&Report{Status: StatusDone, Value: []byte("null"), TimerMillis: -1}),
	)},
	{"faults", "What the worker cannot do.", append(hello,
		host(&Restore{Image: []byte("bad")}),
		worker(&Fault{CodeInvalidInput, ReasonSnapshotRestore, "the image is damaged"}),
		host(&Snapshot{1}),
		worker(&Fault{Code: CodeSnapshotLimit, Message: "too large"}),
	)},
}

// lineBytes returns the frames of one message.
func lineBytes(t testing.TB, l line) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := NewConn(1-l.from, stream{nil, &b}).Send(l.m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTranscripts pins the bytes of the protocol: the stored conversations
// decode to today's messages and today's messages encode to the stored bytes.
func TestTranscripts(t *testing.T) {
	for _, c := range conversations {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join("testdata", "transcripts", c.name+".txtar")
			if *update {
				write(t, path, c)
			}
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Files) != len(c.lines) {
				t.Fatalf("%d messages stored, %d expected", len(a.Files), len(c.lines))
			}
			for i, l := range c.lines {
				check(t, a.Files[i], l)
			}
		})
	}
}

func check(t *testing.T, f txtar.File, l line) {
	t.Helper()
	if f.Name != l.String() {
		t.Errorf("message %q is stored as %q", l, f.Name)
	}
	if diff := cmp.Diff(string(f.Data), hex.Dump(lineBytes(t, l))); diff != "" {
		t.Errorf("%v: the bytes changed (-stored +now):\n%s", l, diff)
	}
	m, err := receive(l.from, lineBytes(t, l))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.m, m); diff != "" {
		t.Error(diff)
	}
}

func write(t *testing.T, path string, c conversation) {
	t.Helper()
	a := txtar.Archive{Comment: []byte(c.comment + "\n")}
	for _, l := range c.lines {
		a.Files = append(a.Files, txtar.File{Name: l.String(), Data: []byte(hex.Dump(lineBytes(t, l)))})
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, txtar.Format(&a), 0o644); err != nil {
		t.Fatal(err)
	}
}
