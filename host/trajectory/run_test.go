package trajectory_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/trajectory"
)

func storyRun() *trajectory.Run {
	return &trajectory.Run{ID: runID, Session: ada, Events: story()}
}

// TestRunTree shows a whole run: each nested call under the exec or wait in which
// it started.
func TestRunTree(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := storyRun().WriteTree(&b); err != nil {
		t.Fatal(err)
	}
	want := `run_1  failed (internal_error, nested_tool_failed)  2026-01-02T03:04:05Z  610ms
├─ exec            toolu_1                   +0s     10ms   waiting (approval)
│  ├─ Issues.list  quoin:issues:issues_list  +1ms    3ms    ok
│  ├─ call         quoin:core:slow tool      +2ms    600ms  error (tool_error)
│  │  ├─ approval  apr_1                     +3ms           asked
│  │  └─ approval  apr_1                     +500ms         allow-once by bob
│  ├─ search                                 +4ms    1ms    ok
│  └─ call         quoin:core:lost           +6ms    597ms  unknown (interrupted)
└─ wait            toolu_2                   +590ms  20ms   failed (internal_error, nested_tool_failed)
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("tree (-want +got):\n%s", d)
	}
}

// TestTreeOfALostRun shows what a host that died has left.
func TestTreeOfALostRun(t *testing.T) {
	t.Parallel()
	r := storyRun()
	r.Events = r.Events[:3]
	r.Events = append(r.Events, at(3, trajectory.Event{Kind: trajectory.Gap, Missed: 4}))
	var b strings.Builder
	if err := r.WriteTree(&b); err != nil {
		t.Fatal(err)
	}
	want := `run_1  running  2026-01-02T03:04:05Z  3ms
├─ exec            toolu_1                   +0s   -  running
│  ├─ Issues.list  quoin:issues:issues_list  +1ms  -  running
│  └─ call         quoin:core:slow tool      +2ms  -  running
└─ 4 events are missing here
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("tree (-want +got):\n%s", d)
	}
}

// TestATerminalIsSafe has names that would speak to a terminal.
func TestATerminalIsSafe(t *testing.T) {
	t.Parallel()
	r := storyRun()
	for i := range r.Events {
		r.Events[i].Via, r.Events[i].ToolID, r.Events[i].By = "\x1b[2J\r\nnew\tline", "\u202eevil", strings.Repeat("x", 1000)
	}
	var b strings.Builder
	if err := r.WriteTree(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\r\t\u202e") || strings.Count(b.String(), "\n") != 9 || len(b.String()) > 9*400 {
		t.Errorf("the tree holds what it should not: %q", b.String())
	}
}

// TestARedrivenCall is one call: a wait has made it again before it wrote an event, also
// if it had been waiting in the queue.
func TestARedrivenCall(t *testing.T) {
	t.Parallel()
	all := story()
	r := storyRun()
	again := all[2]
	again.Time = epoch.Add(580e6)
	fresh := again
	fresh.CallID = "bridge:call:9"
	r.Events = append(append(append([]trajectory.Event{}, all[:8]...), again, fresh), all[9:]...)
	segments := r.Segments()
	if len(segments) != 2 || len(segments[0].Calls) != 5 || len(segments[1].Calls) != 0 || segments[0].Calls[4].CallID != "bridge:call:9" || segments[0].Calls[4].Ended {
		t.Fatalf("segments %+v", segments)
	}
	if c := segments[0].Calls[1]; c.CallID != "bridge:call:2" || c.Duration != 600e6 || !c.Start.Equal(epoch.Add(2e6)) || !c.Ended {
		t.Errorf("call %+v", c)
	}
}

var update = flag.Bool("update", false, "write the transcripts of testdata")

// TestTranscripts compares both shapes with what is in testdata.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	r := storyRun()
	r.Events[0].Input = json.RawMessage(`{"code":"await Issues.list({state: \"open\"})","language":"javascript"}`)
	r.Events[4].Input, r.Events[4].Output = json.RawMessage(`{"state":"open"}`), json.RawMessage(`[{"key":"ENG-1"}]`)
	for _, shape := range []trajectory.Shape{trajectory.ShapeOpenAI, trajectory.ShapeAnthropic} {
		t.Run(string(shape), func(t *testing.T) {
			messages, err := r.Transcript(shape)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, []byte(mustJSON(t, messages)), "", "  "); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join("testdata", "transcript", string(shape)+".json")
			if *update {
				if err := os.WriteFile(name, append(got.Bytes(), '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.TrimSpace(string(want)), got.String()); d != "" {
				t.Errorf("transcript (-want +got):\n%s", d)
			}
		})
	}
	if _, err := r.Transcript("gemini"); err == nil || err.Error() != `transcript shape "gemini": expected "openai" or "anthropic"` {
		t.Errorf("an unknown shape: %v", err)
	}
}

// TestTranscriptsAreConversations holds both shapes against the rules of the
// providers: every call has one result, in the next messages.
func TestTranscriptsAreConversations(t *testing.T) {
	t.Parallel()
	r := storyRun()
	for i := range r.Events {
		r.Events[i].ToolName = strings.Repeat("täg.", 40)
		if r.Events[i].Kind == trajectory.RunStarted || r.Events[i].Kind == trajectory.RunResumed {
			r.Events[i].CallID = ""
		}
	}
	calls, results := map[string]bool{}, map[string]bool{}
	fits := func(s string) {
		t.Helper()
		if len(s) == 0 || len(s) > 64 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q is no name or id", s)
		}
	}
	messages, err := r.Transcript(trajectory.ShapeAnthropic)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range messages {
		var got struct {
			Role    string
			Content []struct {
				Type, ID, Name string
				Input          map[string]any
				ToolUseID      string `json:"tool_use_id"`
				Quoin          trajectory.Projected
			}
		}
		if err := json.Unmarshal(m, &got); err != nil {
			t.Fatal(err)
		}
		if want := []string{"assistant", "user"}[i%2]; got.Role != want {
			t.Errorf("message %d is of %s", i, got.Role)
		}
		for n, c := range got.Content {
			if c.Type == "tool_use" {
				fits(c.ID)
				fits(c.Name)
				if calls[c.ID] || c.Input == nil || (n > 0) != (c.Quoin.ParentCallID == got.Content[0].ID) {
					t.Errorf("call %+v", c)
				}
				calls[c.ID] = true
			} else if !calls[c.ToolUseID] || results[c.ToolUseID] {
				t.Errorf("result %+v", c)
			} else {
				results[c.ToolUseID] = true
			}
		}
		if i%2 == 1 && len(calls) != len(results) {
			t.Errorf("message %d leaves calls without a result", i)
		}
	}
	if len(calls) != 6 {
		t.Errorf("%d calls", len(calls))
	}
}

// FuzzDecode reads files of any kind, and shows what can be read.
func FuzzDecode(f *testing.F) {
	var whole []byte
	for _, e := range story() {
		b, err := json.Marshal(struct {
			V int `json:"v"`
			trajectory.Event
		}{1, e})
		if err != nil {
			f.Fatal(err)
		}
		whole = append(append(whole, b...), '\n')
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("{\"v\":1,\"kind\":\"call_ended\",\"runId\":\"run_1\",\"time\":\"2026-01-02T03:04:05Z\"}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := trajectory.Decode(bytes.NewReader(b), runID)
		if err != nil {
			return
		}
		r.Summary()
		if err := r.WriteTree(&strings.Builder{}); err != nil {
			t.Fatal(err)
		}
		for _, shape := range []trajectory.Shape{trajectory.ShapeOpenAI, trajectory.ShapeAnthropic} {
			messages, err := r.Transcript(shape)
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid([]byte(mustJSON(t, messages))) {
				t.Fatal("not JSON")
			}
		}
	})
}
