package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// The variables of a server with tasks: a line per answer about its task, and a file to
// which it writes what it is asked.
const (
	taskStatesKey = "QUOIN_TEST_MCP_STATES"
	taskNotesKey  = "QUOIN_TEST_MCP_NOTES"
)

// tasker makes a task of every call, and answers tasks/get with one state after the other.
type tasker struct {
	states []string
	note   func(string)
}

// answer returns the result of a request, or an error object if fail is set.
func (s *tasker) answer(q request) (result string, fail bool) {
	var p struct {
		Task      string          `json:"taskId"`
		Responses json.RawMessage `json:"inputResponses"`
	}
	if err := json.Unmarshal(q.Params, &p); err != nil {
		return `{"code":-32602,"message":"no params"}`, true
	}
	s.note(strings.TrimSpace(q.Method + " " + p.Task + " " + string(p.Responses)))
	switch q.Method {
	case "server/discover":
		return `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private"}`, false
	case "tools/list":
		return oneTool, false
	case "tools/call":
		return `{"resultType":"task","taskId":"T 1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"pollIntervalMs":1}`, false
	case "tasks/get":
		state := s.states[0]
		if len(s.states) > 1 {
			s.states = s.states[1:]
		}
		if strings.HasPrefix(state, `{"code"`) {
			return state, true
		}
		return `{"resultType":"complete","taskId":"T 1",` + state + `}`, false
	}
	return `{"resultType":"complete"}`, false
}

func init() {
	badServers["tasker"] = func(r *raw) error {
		s := &tasker{states: strings.Split(os.Getenv(taskStatesKey), "\n"), note: func(line string) {
			f, err := os.OpenFile(os.Getenv(taskNotesKey), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = fmt.Fprintln(f, line)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				panic(err)
			}
		}}
		for {
			line, err := r.in.ReadBytes('\n')
			if err != nil {
				return nil
			}
			var q request
			if err := json.Unmarshal(line, &q); err != nil {
				return err
			}
			if q.ID == nil {
				continue
			}
			text, fail := s.answer(q)
			if strings.Contains(text, dyingState) {
				os.Exit(7)
			}
			kind := "result"
			if fail {
				kind = "error"
			}
			if err := r.say(`{"jsonrpc":"2.0","id":%s,%q:%s}`, q.ID, kind, text); err != nil {
				return err
			}
		}
	}
}

// taskWorld connects to a server with tasks over pipes, and returns what it was asked.
func taskWorld(t *testing.T, states ...string) (w *world, notes string) {
	t.Helper()
	notes = filepath.Join(t.TempDir(), "notes")
	s := self(t, "ask", "tasker")
	s.Env[taskStatesKey], s.Env[taskNotesKey] = strings.Join(states, "\n"), notes
	return connect(t, Options{}, s), notes
}

func noted(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

const (
	dyingState   = `"status":"dying"` // the server ends before it says so
	stateWorking = `"status":"working","pollIntervalMs":1`
	stateDone    = `"status":"completed","result":{"content":[{"type":"text","text":"done"}],"z":1}`
	stateAsks    = `"status":"input_required","inputRequests":{"q1":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}}}}}}`
	stateAsks2   = `"status":"input_required","inputRequests":{"q2":{"method":"elicitation/create","params":{"mode":"url","message":"Pay.","url":"https://a.example/"}}}`
)

// TestATaskIsAwaited: the call returns what the task ends with, byte for byte.
func TestATaskIsAwaited(t *testing.T) {
	t.Parallel()
	w, notes := taskWorld(t, stateWorking, stateWorking, stateDone)
	raw, err := w.Call(t.Context(), askRequest("t", "x", 0))
	if want := `{"content":[{"type":"text","text":"done"}],"z":1}`; err != nil || string(raw) != want {
		t.Errorf("%s, %v", raw, err)
	}
	if got := noted(t, notes); !slices.Equal(got[2:], []string{"tools/call", "tasks/get T 1", "tasks/get T 1", "tasks/get T 1"}) {
		t.Errorf("it was asked %q", got)
	}
}

// TestATaskThatAsks: its questions go to a person, each once; the answers go to the task,
// also in another process, and the tool is called once.
func TestATaskThatAsks(t *testing.T) {
	t.Parallel()
	w, notes := taskWorld(t, stateWorking, stateAsks, stateAsks, stateWorking, stateAsks2, stateDone)
	r := askRequest("t", "x", 0)
	ask := w.asked(t, r)
	if len(ask.Questions) != 1 || ask.Questions[0].ID != "q1" || ask.Questions[0].Message != "Who?" {
		t.Fatalf("%+v", ask.Questions)
	}
	r.Resumption = &codemode.Resumption{State: ask.State, Answers: map[string]codemode.QuestionAnswer{"q1": {Action: codemode.AnswerAccept, Content: json.RawMessage(`{"n":"Ada"}`)}}}
	ask = w.asked(t, r)
	if len(ask.Questions) != 1 || ask.Questions[0].ID != "q2" || ask.Questions[0].Kind != codemode.QuestionURL {
		t.Fatalf("%+v", ask.Questions)
	}
	r.Resumption = &codemode.Resumption{State: ask.State, Answers: map[string]codemode.QuestionAnswer{"q2": {Action: codemode.AnswerDecline}}}
	raw, err := w.Call(t.Context(), r)
	if err != nil || !strings.Contains(string(raw), "done") {
		t.Errorf("%s, %v", raw, err)
	}
	var told []string
	for _, line := range noted(t, notes) {
		if strings.HasPrefix(line, "tasks/update") || line == "tools/call" {
			told = append(told, line)
		}
	}
	want := []string{"tools/call", `tasks/update T 1 {"q1":{"action":"accept","content":{"n":"Ada"}}}`, `tasks/update T 1 {"q2":{"action":"decline"}}`}
	if !slices.Equal(told, want) {
		t.Errorf("it was told %q", told)
	}
}

// TestATaskIsCancelledWithItsCall: the call returns at once, and the server is told.
func TestATaskIsCancelledWithItsCall(t *testing.T) {
	t.Parallel()
	w, notes := taskWorld(t, stateWorking)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := w.Call(ctx, askRequest("t", "x", 0))
		done <- err
	}()
	waitForFile(t, notes, "tasks/get")
	cancel()
	var e *Error
	if err := <-done; !errors.As(err, &e) || e.Code != CodeCancelled || !e.Unknown {
		t.Errorf("%v", err)
	}
	waitForFile(t, notes, "tasks/cancel T 1")
}

// TestClosingEndsTheWaitForATask.
func TestClosingEndsTheWaitForATask(t *testing.T) {
	t.Parallel()
	w, notes := taskWorld(t, stateWorking)
	done := make(chan error)
	go func() {
		_, err := w.Call(context.WithoutCancel(t.Context()), askRequest("t", "x", 0))
		done <- err
	}()
	waitForFile(t, notes, "tasks/get")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if err := <-done; !errors.As(err, &e) || e.Code != CodeClosed || !e.Unknown {
		t.Errorf("%v", err)
	}
}

// TestATaskOfAServerThatIsAway may have had its effect.
func TestATaskOfAServerThatIsAway(t *testing.T) {
	t.Parallel()
	c := callOf(peer{name: "s"})
	_, err := c.taskRequest(t.Context(), methodTaskGet, &taskParams{TaskID: "T"})
	if e := (*Error)(nil); !errors.As(err, &e) || e.Code != CodeUnavailable || !e.Unknown {
		t.Errorf("%+v", e)
	}
}

// TestTasksThatFail: each end of a task that is not a result is an error with a code.
func TestTasksThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state string
		code  Code
		text  string
	}{
		"failed":     {`"status":"failed","error":{"code":-5,"message":"no luck"}`, CodeRefused, "no luck (code -5)"},
		"cancelled":  {`"status":"cancelled"`, CodeCancelled, "by the server"},
		"strange":    {`"status":"dreaming"`, CodeInvalidReply, "dreaming"},
		"no result":  {`"status":"completed"`, CodeInvalidReply, "not an object"},
		"other task": {`"taskId":"T 2","status":"completed","result":{}`, CodeInvalidReply, "another task"},
		"model":      {`"status":"input_required","inputRequests":{"q":{"method":"sampling/createMessage"}}`, CodeNeedsInput, "not offered"},
		"forgotten":  {`{"code":-32602,"message":"Task not found"}`, CodeRefused, "Task not found"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := taskWorld(t, c.state)
			e := w.refuse(t, t.Context(), "ask", "t", `{}`)
			if e.Code != c.code || !e.Unknown || !strings.Contains(e.Message, c.text) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestATaskOutlivesTheConnection: a server that is started again is asked for the same task.
func TestATaskOutlivesTheConnection(t *testing.T) {
	t.Parallel()
	notes := filepath.Join(t.TempDir(), "notes")
	s := self(t, "ask", "tasker-that-dies")
	s.Env[taskNotesKey] = notes
	times := tenth
	times.minPoll = 300 * time.Millisecond // a busy machine starts the server again within maxFailedPolls of them
	w := connect(t, Options{times: times}, s)
	raw, err := w.Call(t.Context(), askRequest("t", "x", 0))
	if err != nil || !strings.Contains(string(raw), "done") {
		t.Fatalf("%s, %v", raw, err)
	}
	if got := strings.Join(noted(t, notes), "\n"); strings.Count(got, "tools/call") != 1 || strings.Count(got, "server/discover") != 2 {
		t.Errorf("it was asked\n%s", got)
	}
}

func init() {
	badServers["tasker-that-dies"] = func(r *raw) error {
		state := dyingState
		if text, err := os.ReadFile(os.Getenv(taskNotesKey)); err == nil && strings.Contains(string(text), "tasks/get") {
			state = stateDone
		}
		if err := os.Setenv(taskStatesKey, state); err != nil {
			return err
		}
		return badServers["tasker"](r)
	}
}

// TestTasksOverHTTP: every request about a task names it in a header.
func TestTasksOverHTTP(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var headers []string
	s := &tasker{states: []string{stateWorking, stateDone}, note: func(string) {}}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var q request
		if err != nil || json.Unmarshal(text, &q) != nil || q.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(q.Method, "tasks/") {
			headers = append(headers, r.Header.Get("Mcp-Method")+" "+r.Header.Get("Mcp-Name"))
		}
		answer, _ := s.answer(q)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, answer)
	}))
	t.Cleanup(web.Close)
	w := connect(t, Options{}, Server{Name: "ask", URL: web.URL})
	raw, err := w.Call(t.Context(), askRequest("t", "x", 0))
	if err != nil || !strings.Contains(string(raw), "done") {
		t.Fatalf("%s, %v", raw, err)
	}
	if want := []string{"tasks/get =?base64?VCAx?=", "tasks/get =?base64?VCAx?="}; !slices.Equal(headers, want) {
		t.Errorf("headers %q", headers)
	}
}

// TestTimesOfATask: what a server says about time is held to bounds.
func TestTimesOfATask(t *testing.T) {
	t.Parallel()
	for poll, want := range map[string]time.Duration{"-1": defaultTimes.minPoll, "0": defaultTimes.minPoll, "250": 250 * time.Millisecond, "9223372036854775807": defaultTimes.maxPoll} {
		task, err := defaultTimes.newTask([]byte(`{"taskId":"a","pollIntervalMs":` + poll + `}`))
		if err != nil || task.Poll != want {
			t.Errorf("%s: %+v, %v", poll, task, err)
		}
	}
	for _, bad := range []string{`{}`, `{"taskId":7}`, `{"taskId":"a\n"}`, `{"taskId":"` + strings.Repeat("x", maxTaskID+1) + `"}`} {
		if task, err := defaultTimes.newTask([]byte(bad)); err == nil {
			t.Errorf("%.50s is %+v", bad, task)
		}
	}
}

// TestATaskWithoutAnEndIsGivenUp, and the server is told so.
func TestATaskWithoutAnEndIsGivenUp(t *testing.T) {
	t.Parallel()
	notes := filepath.Join(t.TempDir(), "notes")
	s := self(t, "ask", "tasker")
	s.Env[taskStatesKey], s.Env[taskNotesKey] = stateWorking, notes
	times := tenth
	times.maxTaskLife = 20 * time.Millisecond
	w := connect(t, Options{times: times}, s)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a fault is no hang
	defer cancel()
	if e := w.refuse(t, ctx, "ask", "t", `{}`); e.Code != CodeTimeout || !e.Unknown || !strings.Contains(e.Message, "did not end until") {
		t.Errorf("%+v", e)
	}
	waitForFile(t, notes, "tasks/cancel T 1")
}

// TestResultsOfTasksAreBounded as results of calls are.
func TestResultsOfTasksAreBounded(t *testing.T) {
	t.Parallel()
	c := callOf(peer{name: "s", server: Server{MaxResultBytes: 8}})
	for result, ok := range map[string]bool{`{"a":12}`: true, `{"a":123}`: false} {
		raw, over, err := c.progress(&task{ID: "a"}, &taskState{Status: "completed", Result: []byte(result)}, nil)
		var e *Error
		if !over || (err == nil) != ok || ok && string(raw) != result || !ok && (!errors.As(err, &e) || e.Code != CodeInvalidReply) {
			t.Errorf("%s, of which at most 8 bytes fit: %s, %v, %v", result, raw, over, err)
		}
	}
}
