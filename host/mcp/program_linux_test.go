package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/internal/hosttest"
)

func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }

func TestToolsAndOperationsOfAProgram(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{Version: "9"}, self(t, "good", "good"))
	want := []string{"big", "crash", "echo", "environment", "fail", "grow", "links", "spawn", "wait", "resources_list", "resources_read", "prompts_list", "prompts_get"}
	if got := w.names(); !slices.Equal(got, want) {
		t.Errorf("tools %q\nwant %q", got, want)
	}
	echo := w.Tools()[2]
	if echo.Title != "Echo!" || echo.ReadOnly || echo.Idempotent || !json.Valid(echo.Input) || echo.Server != "good" {
		t.Errorf("echo is %+v; its hints are not to be trusted", echo)
	}
	if st := w.Status()[0]; st.State != StateConnected || st.ServerName != "good good" || st.ServerVersion != "1.2.3" || st.Tools != len(want)-4 || st.Protocol == "" {
		t.Errorf("status %+v", st)
	}
	for _, c := range []struct{ tool, input, want string }{
		{"echo", `{"text":"hé"}`, `"structuredContent":{"label":"good","text":"hé"}`},
		{"fail", `{}`, `"isError":true`},
		{"links", `{}`, `"memo://one"`},
		{"links", `{}`, `"blob":"AAH/"`},
		{"resources_list", `{}`, `"uri":"memo://one"`},
		{"resources_read", `{"uri":"memo://one"}`, `"text":"the memo"`},
		{"prompts_list", `{}`, `"name":"brief"`},
		{"prompts_get", `{"name":"brief","arguments":{"topic":"bees"}}`, `"On bees"`},
	} {
		raw, err := w.Call(t.Context(), Request{Server: "good", Tool: c.tool, Input: json.RawMessage(c.input)})
		if err != nil || !strings.Contains(string(raw), c.want) {
			t.Errorf("%s: %s, %v; want %s", c.tool, raw, err, c.want)
		}
	}
	if e := w.refuse(t, t.Context(), "good", "resources_read", `{"uri":"memo://none"}`); e.Code != CodeRefused || e.Unknown {
		t.Errorf("a resource that is not there: %+v", e)
	}
	if e := w.refuse(t, t.Context(), "good", "nope", `{}`); e.Code != CodeUnavailable || e.Unknown {
		t.Errorf("a tool that is not there: %+v", e)
	}
	if e := w.refuse(t, t.Context(), "absent", "echo", `{}`); e.Code != CodeUnavailable {
		t.Errorf("a server that is not there: %+v", e)
	}
}

func TestTrustedHints(t *testing.T) {
	t.Parallel()
	s := self(t, "good", "good")
	s.TrustHints = true
	w := connect(t, Options{}, s)
	for _, tool := range w.Tools() {
		if want := tool.Name == "echo" || tool.Operation != ""; tool.ReadOnly != want || tool.Idempotent != want {
			t.Errorf("%s: read-only %v, idempotent %v", tool.Name, tool.ReadOnly, tool.Idempotent)
		}
	}
}

func TestAllowAndDeny(t *testing.T) {
	t.Parallel()
	s := self(t, "good", "good")
	s.Allow, s.Deny = []string{"e*", "resources_*"}, []string{"env*", "resources_read"}
	w := connect(t, Options{}, s)
	if got := w.names(); !slices.Equal(got, []string{"echo", "resources_list"}) {
		t.Errorf("tools %q", got)
	}
	if e := w.refuse(t, t.Context(), "good", "crash", `{}`); e.Code != CodeUnavailable {
		t.Errorf("a tool that is not allowed: %+v", e)
	}
}

// TestAnEmptyAllowList leaves no tool and no operation.
func TestAnEmptyAllowList(t *testing.T) {
	t.Parallel()
	s := self(t, "good", "good")
	s.Allow = []string{}
	w := connect(t, Options{}, s)
	if got := w.names(); len(got) != 0 {
		t.Errorf("tools %q", got)
	}
	if e := w.refuse(t, t.Context(), "good", "echo", `{}`); e.Code != CodeUnavailable {
		t.Errorf("a tool that is not allowed: %+v", e)
	}
}

// TestAProgramThatIsNoServer: what it writes is the reason while it is being
// connected, long before the time for that is over.
func TestAProgramThatIsNoServer(t *testing.T) {
	t.Parallel()
	said := make(chan struct{}, 1)
	log := slog.New(slog.NewTextHandler(writes(func(line []byte) {
		if strings.Contains(string(line), "hello") {
			said <- struct{}{}
		}
	}), nil))
	servers, err := Connect([]Server{self(t, "greeter", "greeter")}, Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	<-said
	if st := servers.Status()[0]; st.State != StateConnecting || st.Error == nil || st.Error.Error() != `its standard output is not MCP: "hello, I am no server"` {
		t.Errorf("status %+v", st)
	}
	if err := servers.Close(); err != nil {
		t.Error(err)
	}
}

// TestAProgramThatNeverAnswers: the first line that it writes stays the reason when the time
// for its start is over.
func TestAProgramThatNeverAnswers(t *testing.T) {
	t.Parallel()
	s := self(t, "greeter", "greeter")
	s.ConnectTimeout = time.Second
	w := connect(t, Options{FirstDelay: time.Hour}, s)
	if st := w.Status()[0]; st.State != StateDown || !strings.Contains(st.Error.Error(), `within 1s: its standard output is not MCP: "hello, I am no server"`) {
		t.Errorf("status %+v", st)
	}
}

// writes calls a function with everything that is written.
type writes func(b []byte)

func (w writes) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// TestTheEnvironmentIsWhatIsConfigured: no variable of the host but PATH reaches a
// program unless it is named.
func TestTheEnvironmentIsWhatIsConfigured(t *testing.T) {
	hosttest.Serial(t, "sets variables of the process")
	t.Setenv("PATH", "/a/path")
	t.Setenv("QUOIN_TEST_SECRET", "s3cret")
	t.Setenv("QUOIN_TEST_PASSED", "passed")
	s := self(t, "good", "good")
	s.PassEnv = []string{"QUOIN_TEST_PASSED", "QUOIN_TEST_UNSET"}
	s.Env["EXPANDED"] = "<${QUOIN_TEST_SECRET}>"
	w := connect(t, Options{}, s)
	out := w.call(t, "good", "environment", `{}`)
	var env []string
	for _, v := range out["structuredContent"].(map[string]any)["env"].([]any) {
		env = append(env, v.(string))
	}
	slices.Sort(env)
	want := []string{"EXPANDED=<s3cret>", "PATH=/a/path", "QUOIN_TEST_MCP_LABEL=good", roleKey + "=good", "QUOIN_TEST_PASSED=passed"}
	if !slices.Equal(env, want) {
		t.Errorf("environment %q\nwant %q", env, want)
	}
}

// TestCredentialsOfTheEnvironmentAreNotInWhatAProgramSays: a program that dumps its environment does not hand its
// credentials to programs and logs.
func TestCredentialsOfTheEnvironmentAreNotInWhatAProgramSays(t *testing.T) {
	hosttest.Serial(t, "sets variables of the process")
	t.Setenv("QUOIN_TEST_SECRET", "behind-a-reference")
	t.Setenv("QUOIN_TEST_TOKEN", "passed-on-as-it-is")
	s := self(t, "good", "good")
	s.PassEnv = []string{"QUOIN_TEST_TOKEN"}
	s.Env["API_TOKEN"], s.Env["PLAIN"], s.Env["LINES_KEY"] = "written-down", "<${QUOIN_TEST_SECRET}> stays", "-----BEGIN-----\nsecond \\ line\n"
	s.Env["DATABASE"] = "postgres://user:p-a-s-s-word@host/db"
	w := connect(t, Options{}, s)
	said := fmt.Sprint(w.call(t, "good", "environment", `{}`), w.refuse(t, t.Context(), "good", "crash", `{}`))
	w.until(t, func() bool { return strings.Contains(w.log.String(), "I am crashing") })
	said += w.log.String()
	for _, secret := range []string{"behind-a-reference", "passed-on-as-it-is", "written-down", "BEGIN", "second", "p-a-s-s-word"} {
		if strings.Contains(said, secret) {
			t.Errorf("%s is in\n%s", secret, said)
		}
	}
	for _, want := range []string{"PLAIN=<[credential]> stays", "I am crashing [credential] postgres://user:[credential]@host/db"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is not in\n%s", want, said)
		}
	}
}

func TestPathIsPassedUnlessItIsSet(t *testing.T) {
	hosttest.Serial(t, "sets variables of the process")
	t.Setenv("PATH", "/a/path")
	for want, s := range map[string]Server{
		"PATH=/a/path": {},
		"PATH=/other":  {Env: map[string]string{"PATH": "/other"}},
		"PATH=":        {Env: map[string]string{"PATH": ""}},
	} {
		if env, err := s.environment(); err != nil || !slices.Equal(env, []string{want}) {
			t.Errorf("%v: %q, %v", s.Env, env, err)
		}
	}
	s := Server{PassEnv: []string{"PATH"}}
	if env, err := s.environment(); err != nil || !slices.Equal(env, []string{"PATH=/a/path"}) {
		t.Errorf("it is passed twice: %q, %v", env, err)
	}
}

func TestAMissingVariableIsNamed(t *testing.T) {
	t.Parallel()
	s := self(t, "good", "good")
	s.Env["TOKEN"] = "${QUOIN_TEST_NOT_SET}"
	w := connect(t, Options{FirstDelay: time.Hour}, s)
	st := w.Status()[0]
	if st.State != StateDown || st.Error == nil || !strings.Contains(st.Error.Error(), `env.TOKEN needs the variable "QUOIN_TEST_NOT_SET", which the host's environment does not have`) {
		t.Fatalf("status %+v", st)
	}
	if said := (redact.Redactor{}).Text(st.Error.Error()); said != st.Error.Error() {
		t.Errorf("redaction leaves of our own words: %s", said)
	}
}

func TestAServerThatIsDown(t *testing.T) {
	t.Parallel()
	missing := Server{Name: "missing", Command: "/nowhere/at/all"}
	w := connect(t, Options{FirstDelay: time.Hour}, missing, self(t, "good", "good"), self(t, "stillborn", "stillborn"))
	if !w.has("echo") {
		t.Error("the server that is there has no tools")
	}
	for _, st := range w.Status() {
		if want := map[string]string{"missing": "no such file", "stillborn": "no licence", "good": ""}[st.Name]; want != "" && (st.State != StateDown || !strings.Contains(st.Error.Error(), want)) {
			t.Errorf("status %+v", st)
		}
	}
	if e := w.refuse(t, t.Context(), "missing", "t", `{}`); e.Code != CodeUnavailable || e.Unknown {
		t.Errorf("%+v", e)
	}
}

// TestKilledInTheMiddleOfACall: the call rejects, the tools go, and they come back
// with the next process.
func TestKilledInTheMiddleOfACall(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{}, self(t, "good", "good"))
	before := w.call(t, "good", "environment", `{}`)
	e := w.refuse(t, t.Context(), "good", "crash", `{}`)
	if e.Code != CodeClosed || !e.Unknown {
		t.Errorf("%+v", e)
	}
	w.until(t, func() bool {
		_, err := w.Call(t.Context(), Request{Server: "good", Tool: "echo", Input: json.RawMessage(`{}`)})
		return err == nil
	})
	after := w.call(t, "good", "environment", `{}`)
	if pid(before) == pid(after) {
		t.Error("the server is the same process as before")
	}
	if !strings.Contains(w.log.String(), "I am crashing") {
		t.Errorf("the log lacks the last words:\n%s", w.log)
	}
}

func pid(result map[string]any) int {
	return int(result["structuredContent"].(map[string]any)["pid"].(float64))
}

// TestCancellationReachesTheServer: a caller that gives up returns at once, and
// the server is told.
func TestCancellationReachesTheServer(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{}, self(t, "good", "good"))
	file := filepath.Join(t.TempDir(), "state")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan *Error)
	go func() { done <- w.refuse(t, ctx, "good", "wait", `{"text":"`+file+`"}`) }()
	waitForFile(t, file, "running")
	cancel()
	if e := <-done; e.Code != CodeCancelled || !e.Unknown {
		t.Errorf("%+v", e)
	}
	waitForFile(t, file, "cancelled")
	w.call(t, "good", "echo", `{}`) // the connection is as it was
}

// waitForFile waits until a process has written a word into a file.
func waitForFile(t *testing.T, file, word string) {
	t.Helper()
	if err := hosttest.AwaitFile(t.Context(), file, word); err != nil {
		t.Fatal(err)
	}
}

func TestAChangedListIsTaken(t *testing.T) {
	t.Parallel()
	s := self(t, "good", "good")
	s.Pin = PinWarn
	w := connect(t, Options{}, s)
	w.call(t, "good", "grow", `{"text":"novelty"}`)
	w.until(t, func() bool { return w.has("novelty") })
	w.call(t, "good", "novelty", `{}`)
}

// TestNoProcessIsLeft: neither the program nor what it started.
func TestNoProcessIsLeft(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{}, self(t, "good", "good"))
	pids := []int{pid(w.call(t, "good", "environment", `{}`)), pid(w.call(t, "good", "spawn", `{}`))}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range pids {
		waitGone(t, p)
	}
}

func TestAStubbornProgramIsKilled(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{StopTimeout: 10 * time.Millisecond}, self(t, "stubborn", "stubborn"))
	p := pid(w.call(t, "stubborn", "t", `{}`))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, p)
}

func TestCallsEndWithClose(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{}, self(t, "good", "good"))
	file := filepath.Join(t.TempDir(), "state")
	done := make(chan *Error)
	go func() { done <- w.refuse(t, context.Background(), "good", "wait", `{"text":"`+file+`"}`) }()
	waitForFile(t, file, "running")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if e := <-done; e.Code != CodeClosed || !e.Unknown {
		t.Errorf("%+v", e)
	}
	if e := w.refuse(t, context.Background(), "good", "echo", `{}`); e.Code != CodeUnavailable {
		t.Errorf("after Close: %+v", e)
	}
}
