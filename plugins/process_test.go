//go:build linux

package plugins

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

func TestCallRoundTrip(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	got, err := p.CallTool(t.Context(), call("echo", map[string]string{"text": "hi"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != `{"text":"hi"}` {
		t.Errorf("got %s", got)
	}
	if h, err := p.Health(t.Context()); err != nil || h.RunningCalls != 0 {
		t.Errorf("Health: %+v, %v", h, err)
	}
}

func TestProgressArrivesInOrderBeforeTheResult(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	var steps []string
	_, err := p.CallTool(t.Context(), call("progress", textIn{N: 3}), func(v json.RawMessage) { steps = append(steps, string(v)) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`{"step":0}`, `{"step":1}`, `{"step":2}`}, steps); diff != "" {
		t.Error(diff)
	}
}

func TestCallFailures(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	tests := []struct {
		name  string
		req   CallRequest
		kind  protocol.Kind
		code  string
		parts []string
	}{
		{"the tool says so", call("fail", none{}), protocol.KindTool, "not_found", []string{"no such thing"}},
		{"unknown tool", call("nope", none{}), protocol.KindInput, protocol.CodeUnknownTool, []string{"fix", `"nope"`}},
		{"wrong input", call("echo", map[string]any{"text": 5}), protocol.KindInput, protocol.CodeInvalidInput, []string{"text", "string", "5"}},
		{"panic", call("panic", none{}), protocol.KindPlugin, protocol.CodePanic, []string{"plugin fix", "tool panic", "boom"}},
		{"too large a request", call("echo", textIn{Text: strings.Repeat("x", 17<<20)}), protocol.KindInput, protocol.CodeRequestTooLarge, []string{"limit"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := p.CallTool(t.Context(), tt.req, nil)
			wantError(t, err, tt.kind, tt.code, tt.parts...)
		})
	}
	var e *protocol.Error
	if _, err := p.CallTool(t.Context(), call("fail", none{}), nil); err != nil {
		e = protocol.AsError(err)
	}
	if string(e.Details) != `{"id":7}` {
		t.Errorf("details: %s", e.Details)
	}
}

func TestDeathDuringACall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tool  string
		parts []string
	}{
		{"exit", []string{"plugin fix died during tool exit", "exit status 3"}},
		{"crash", []string{"plugin fix died during tool crash", "exit status 2", "out of cheese"}},
	}
	for _, tt := range tests {
		t.Run(tt.tool, func(t *testing.T) {
			p := startRole(t, "good", testOptions(t))
			_, err := p.CallTool(t.Context(), call(tt.tool, none{}), nil)
			wantError(t, err, protocol.KindProcess, protocol.CodeCrashed, tt.parts...)
			<-p.Done()
			if p.Err() == nil {
				t.Error("Err is nil after a death")
			}
			_, err = p.CallTool(t.Context(), call("echo", none{}), nil)
			wantError(t, err, protocol.KindProcess, protocol.CodeCrashed, "died before tool echo")
		})
	}
}

func TestCallDeadline(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	usual := p.options.CallTimeout
	p.options.CallTimeout = 100 * time.Millisecond
	_, err := p.CallTool(t.Context(), call("wait", none{}), nil)
	p.options.CallTimeout = usual
	wantError(t, err, protocol.KindTimeout, protocol.CodeTimeout, "plugin fix", "tool wait", "100ms")
	if _, err := p.CallTool(t.Context(), call("echo", none{}), nil); err != nil {
		t.Errorf("a call after the timeout: %v", err)
	}
}

func TestCancellationReachesTheTool(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := p.CallTool(ctx, call("wait", none{}), func(json.RawMessage) { cancel() })
	wantError(t, err, protocol.KindCancelled, protocol.CodeCancelled, "tool wait", "plugin fix")
	if left, err := p.Drain(t.Context()); err != nil || left != 0 {
		t.Fatalf("Drain: %d, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(p.options.DataDir, "cancelled")); err != nil {
		t.Errorf("the tool did not notice: %v", err)
	}
}

func TestDrainRefusesNewCalls(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	if _, err := p.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := p.CallTool(t.Context(), call("echo", none{}), nil)
	wantError(t, err, protocol.KindProcess, protocol.CodeDraining, "fix")
}

func TestHugeReplyIsRefusedCheaply(t *testing.T) {
	hosttest.Serial(t, "measures the memory of this process")
	p := startRole(t, "huge", testOptions(t))
	before := maxRSS(t)
	_, err := p.CallTool(t.Context(), call("huge", none{}), nil)
	wantError(t, err, protocol.KindProtocol, protocol.CodeReplyTooLarge, "plugin fix", "huge")
	if grown := maxRSS(t) - before; grown > 50<<20 {
		t.Errorf("the host grew by %d MB", grown>>20)
	}
	if _, err := p.Health(t.Context()); err != nil {
		t.Errorf("the plugin is gone after it: %v", err)
	}
}

// maxRSS is the most memory this process has had, in bytes.
func maxRSS(t *testing.T) int64 {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Maxrss << 10
}

func TestTheWorldOfAPlugin(t *testing.T) {
	hosttest.Serial(t, "sets variables of the process")
	t.Setenv("SECRET", "s3cr3t")
	t.Setenv("TZ", "Europe/Berlin")
	leak, err := unix.Dup(0) // without close-on-exec, like a descriptor from a shell
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	p := startRole(t, "good", testOptions(t))
	raw, err := p.CallTool(t.Context(), call("world", none{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	var w world
	if err := json.Unmarshal(raw, &w); err != nil {
		t.Fatal(err)
	}
	allowed := []string{"TZ", "HOME", "TMPDIR", protocol.EnvDataDir, protocol.EnvPluginDir, protocol.CookieKey}
	for _, e := range w.Env {
		name, _, _ := strings.Cut(e, "=")
		if !slices.Contains(allowed, name) && !strings.HasPrefix(name, "PLUGIN_") {
			t.Errorf("the plugin sees %s", name)
		}
	}
	if !slices.Contains(w.Env, "TZ=Europe/Berlin") || !slices.Contains(w.Env, "HOME="+p.options.DataDir) {
		t.Errorf("environment: %v", w.Env)
	}
	if w.Dir != p.options.DataDir || len(w.Args) != 0 {
		t.Errorf("started in %s with %v", w.Dir, w.Args)
	}
	for _, f := range w.Files {
		n, target, _ := strings.Cut(f, " ")
		own := strings.HasPrefix(target, "pipe:") || strings.HasPrefix(target, "socket:") ||
			strings.HasPrefix(target, "anon_inode:") || strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/sys/fs/cgroup/")
		if !own {
			t.Errorf("descriptor %s of the plugin is %s", n, target)
		}
	}
	if slices.ContainsFunc(w.Files, func(f string) bool { return strings.HasPrefix(f, "0 ") && !strings.Contains(f, "pipe:") }) {
		t.Errorf("standard input is not the host's pipe: %v", w.Files)
	}
}

func TestStrayPrintsDoNotBreakTheHandshake(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	o := testOptions(t)
	o.Logger = slog.New(rec)
	p := startRole(t, "chatty", o)
	if _, err := p.CallTool(t.Context(), call("print", textIn{Text: "later"}), nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(rec.lines(), "\n")
	wantParts(t, all, "loading the model", "almost there:", "plugin=fix", "stream=stdout")
}

func TestStartFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, role string
		refused    bool
		parts      []string
	}{
		{"another's identity", "other issues", true, []string{`"issues"`, `"fix"`, "manifest"}},
		{"another version", "version 9.9.9", true, []string{"9.9.9", "1.0.0", "manifest"}},
		{"garbage", "garbage", false, []string{"before the handshake", "exit status 0", "hello, world"}},
		{"a very long line", "long", false, []string{"before the handshake"}},
		{"early exit", "exit", false, []string{"exit status 7", "cannot find my keys"}},
		{"another protocol", "line 1|99|unix|/tmp/x|grpc|", true, []string{"manifest says protocol version 2", "version 99", "versions 1 to 2", "update the host"}},
		{"an older protocol", "line 1|1|unix|/tmp/x|grpc|", true, []string{"speaks protocol version 1", "manifest says 2", "\"protocol\": 1", "rebuild"}},
		{"a tcp address", "line 1|2|tcp|127.0.0.1:9|grpc|", false, []string{"tcp", "unix socket"}},
		{"another's socket", "line 1|2|unix|/tmp/other|grpc|", false, []string{"/tmp/other", "PLUGIN_UNIX_SOCKET_DIR"}},
		{"refused configuration", "refuse", true, []string{"the token is missing"}},
		{"another's tool", "raw foreign-tool", true, []string{"issues_list", "its own tools"}},
		{"a scope that leads to another tool", "raw described-target", true, []string{"raw", "b"}},
		{"an invalid scope", "raw described-junk", true, []string{"raw", "__proto__"}},
		{"a reserved global", "raw reserved-global", true, []string{"tools"}},
		{"a tool name with colons", "raw tool-name", true, []string{"quoin:core:exec", "letter"}},
		{"one tool twice", "raw tool-twice", true, []string{"twice"}},
		{"a control tool's name", "raw tool-reserved", true, []string{"tool_call", "choose another"}},
		{"no description", "raw no-description", true, []string{"description"}},
		{"an input that is no object", "raw schema-array", true, []string{`"type": "object"`}},
		{"an invalid schema", "raw schema-invalid", true, []string{`tool "a"`, "schema"}},
		{"a schema that reads files", "raw schema-file", true, []string{"self-contained"}},
		{"an example that does not fit", "raw example", true, []string{"example 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := startFails(t, tt.role, testOptions(t))
			if err.Refused != tt.refused {
				t.Errorf("Refused = %v, want %v", err.Refused, tt.refused)
			}
			wantParts(t, err.Error(), append(tt.parts, "plugin fix")...)
		})
	}
}

func TestNeverHandshakes(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.StartTimeout = 200 * time.Millisecond
	err := startFails(t, "silent", o)
	wantParts(t, err.Error(), "no handshake within 200ms", "sdk.Serve")
}

func TestStartCanBeCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := testOptions(t)
	p, err := Start(ctx, install(t, shortDir(t), "fix", "silent"), o)
	if err == nil {
		t.Fatalf("it came up; ended: %v", p.Close())
	}
	wantParts(t, err.Error(), "plugin fix", "canceled")
}

func TestMissingAndForeignBinaries(t *testing.T) {
	t.Parallel()
	f := install(t, shortDir(t), "fix", "good")
	if err := os.Remove(f.Executable()); err != nil {
		t.Fatal(err)
	}
	wantParts(t, notStarted(t, f, testOptions(t)).Error(), "plugin fix", "no such file")
	if err := os.WriteFile(f.Executable(), []byte("junk"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantParts(t, notStarted(t, f, testOptions(t)).Error(), "plugin fix", "not a program for")
}

func TestHostileReplies(t *testing.T) {
	t.Parallel()
	p := startRole(t, "raw not-json", testOptions(t))
	_, err := p.CallTool(t.Context(), call("a", none{}), nil)
	wantError(t, err, protocol.KindProtocol, protocol.CodeMalformedReply, "plugin fix", "not JSON")
	_, err = p.CreateScope(t.Context(), "raw", testRun)
	wantError(t, err, protocol.KindPlugin, protocol.CodeInvalidOutput, "raw")

	p = startRole(t, "raw foreign-target", testOptions(t))
	_, err = p.CreateScope(t.Context(), "raw", testRun)
	wantError(t, err, protocol.KindPlugin, protocol.CodeInvalidOutput, "raw", "b")

	p = startRole(t, "raw liar", testOptions(t))
	_, err = p.CallTool(t.Context(), call("a", none{}), nil)
	wantError(t, err, protocol.KindPlugin, protocol.CodeCancelled)
}

func TestDescribedScopeIsNotAskedFor(t *testing.T) {
	t.Parallel()
	p := startRole(t, "raw described-scope", testOptions(t))
	scope, err := p.CreateScope(t.Context(), "raw", testRun)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := scope.Resolve([]string{"x"}); err != nil || c.Tool != "a" {
		t.Errorf("x leads to %+v, %v", c, err)
	}
	p.Kill()
	<-p.Done()
	_, err = p.CreateScope(t.Context(), "raw", testRun)
	wantError(t, err, protocol.KindProcess, protocol.CodeCrashed, "the scope of namespace raw")
}

func TestScopeAndMapping(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	scope, err := p.CreateScope(t.Context(), "fix", testRun)
	if err != nil {
		t.Fatal(err)
	}
	c, err := scope.Resolve([]string{"shout"})
	if err != nil {
		t.Fatal(err)
	}
	in, err := p.MapInput(t.Context(), "fix", testRun, c.Mapping.Mapper, []json.RawMessage{json.RawMessage(`"hi"`)})
	if err != nil {
		t.Fatal(err)
	}
	if string(in) != `{"text":"HI"}` {
		t.Errorf("mapped to %s", in)
	}
	_, err = p.MapInput(t.Context(), "fix", testRun, "forged", nil)
	wantError(t, err, protocol.KindInput, protocol.CodeUnknownMapper, "forged")
	_, err = p.MapInput(t.Context(), "fix", testRun, c.Mapping.Mapper, nil)
	wantError(t, err, protocol.KindPlugin, protocol.CodePanic, "plugin fix", "namespace fix")
	_, err = p.CreateScope(t.Context(), "nope", testRun)
	wantError(t, err, protocol.KindInput, protocol.CodeUnknownNamespace, "nope")
}
