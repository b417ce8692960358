package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/internal/hosttest"
)

// roleKey makes the test binary an MCP server, good or bad.
const roleKey = "QUOIN_TEST_MCP_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleKey); role != "" {
		if err := play(role); err != nil {
			log.Fatal(err)
		}
		return
	}
	hosttest.Main(m)
}

// play is the whole life of a server.
func play(role string) error {
	if role == "good" {
		return goodServer(os.Getenv("QUOIN_TEST_MCP_LABEL")).Run(context.Background(), &sdk.StdioTransport{})
	}
	if role == "progressing" {
		return progressing().Run(context.Background(), &sdk.StdioTransport{})
	}
	if role == "doomed" {
		return doomed()
	}
	if role == "paused" {
		return paused()
	}
	act, ok := badServers[role]
	if !ok {
		return fmt.Errorf("unknown role %q", role)
	}
	return act(&raw{in: bufio.NewReaderSize(os.Stdin, 1<<20), out: os.Stdout})
}

type textIn struct {
	Text string `json:"text,omitempty" jsonschema:"any text"`
	N    int    `json:"n,omitempty"`
}

func result(v any) *sdk.CallToolResult {
	return &sdk.CallToolResult{StructuredContent: v, Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(v)}}}
}

// goodServer is a server made with the SDK. It speaks all versions of the protocol unless
// some are given.
func goodServer(label string, versions ...string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "good " + label, Version: "1.2.3"}, &sdk.ServerOptions{SupportedProtocolVersions: versions})
	add := func(name string, hints *sdk.ToolAnnotations, f func(ctx context.Context, in textIn) (*sdk.CallToolResult, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "Does " + name + ".", Annotations: hints},
			func(ctx context.Context, _ *sdk.CallToolRequest, in textIn) (*sdk.CallToolResult, any, error) {
				res, err := f(ctx, in)
				return res, nil, err
			})
	}
	add("echo", &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, Title: "Echo!"}, func(_ context.Context, in textIn) (*sdk.CallToolResult, error) {
		return result(map[string]any{"text": in.Text, "label": label}), nil
	})
	add("fail", nil, func(context.Context, textIn) (*sdk.CallToolResult, error) { return nil, errors.New("it failed") })
	add("crash", nil, func(context.Context, textIn) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "I am crashing", os.Getenv("API_TOKEN"), os.Getenv("DATABASE"))
		os.Exit(3)
		return nil, nil
	})
	add("environment", nil, func(context.Context, textIn) (*sdk.CallToolResult, error) {
		return result(map[string]any{"env": os.Environ(), "pid": os.Getpid()}), nil
	})
	add("spawn", nil, func(context.Context, textIn) (*sdk.CallToolResult, error) {
		cmd := exec.Command("/bin/sleep", "3600")
		err := cmd.Start()
		if err != nil {
			return nil, err
		}
		return result(map[string]any{"pid": cmd.Process.Pid}), nil
	})
	// wait says in the file Text that it runs, and how it was ended.
	add("wait", nil, func(ctx context.Context, in textIn) (*sdk.CallToolResult, error) {
		if err := os.WriteFile(in.Text, []byte("running\n"), 0o600); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, os.WriteFile(in.Text, []byte("cancelled\n"), 0o600)
	})
	add("grow", nil, func(_ context.Context, in textIn) (*sdk.CallToolResult, error) {
		s.AddTool(&sdk.Tool{Name: in.Text, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return result("grown"), nil })
		return result("growing"), nil
	})
	add("big", nil, func(_ context.Context, in textIn) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", in.N)}}}, nil
	})
	add("links", nil, func(context.Context, textIn) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.ResourceLink{URI: "memo://one", Name: "one"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "memo://blob", Blob: []byte{0, 1, 255}, MIMEType: "application/octet-stream"}},
			&sdk.ImageContent{Data: []byte{1}, MIMEType: "image/png"},
		}}, nil
	})
	s.AddResource(&sdk.Resource{URI: "memo://one", Name: "one"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "memo://one", Text: "the memo"}}}, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "brief", Arguments: []*sdk.PromptArgument{{Name: "topic"}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "On " + r.Params.Arguments["topic"]}}}}, nil
	})
	return s
}

// self is a Server that runs the test binary in a role.
func self(t testing.TB, name, role string) Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: name, Command: exe, Env: map[string]string{roleKey: role, "QUOIN_TEST_MCP_LABEL": name}}
}

// world is some servers, and what was heard of them.
type world struct {
	*Servers
	changes chan struct{}
	log     *records
}

// tenth is what tests wait for. What only a failure waits for keeps its time, which a busy
// machine may need.
var tenth = func() times {
	t := hosttest.Tenth(defaultTimes)
	t.discoverWait = time.Minute // a good server on a busy machine is not an old one
	t.probeTimeout, t.endGrace, t.pipeGrace, t.taskStop = defaultTimes.probeTimeout, defaultTimes.endGrace, defaultTimes.pipeGrace, defaultTimes.taskStop
	return t
}()

// connect connects servers until the test ends, and waits for the first attempts.
func connect(t testing.TB, o Options, servers ...Server) *world {
	t.Helper()
	w := &world{changes: make(chan struct{}, 1000), log: &records{}}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if o.times == (times{}) {
		o.times = tenth
	}
	if o.FirstDelay == 0 {
		o.FirstDelay = time.Millisecond
	}
	if o.RefreshDelay == 0 {
		o.RefreshDelay = time.Millisecond
	}
	o.OnChange = func() {
		select {
		case w.changes <- struct{}{}:
		default:
		}
	}
	s, err := Connect(servers, o)
	if err != nil {
		t.Fatal(err)
	}
	w.Servers = s
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	if err := s.Tried(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// until waits for a change after which ok is true.
func (w *world) until(t testing.TB, ok func() bool) {
	t.Helper()
	for !ok() {
		select {
		case <-w.changes:
		case <-time.After(time.Minute):
			t.Fatalf("nothing more happened\n%s", w.log)
		}
	}
}

func (w *world) has(tool string) bool {
	for _, t := range w.Tools() {
		if t.Name == tool {
			return true
		}
	}
	return false
}

func (w *world) names() []string {
	var out []string
	for _, t := range w.Tools() {
		out = append(out, t.Name)
	}
	return out
}

// call calls a tool and returns the result.
func (w *world) call(t testing.TB, server, tool, input string) map[string]any {
	t.Helper()
	raw, err := w.Call(t.Context(), Request{Server: server, Tool: tool, Input: json.RawMessage(input)})
	if err != nil {
		t.Fatalf("%s: %v\n%s", tool, err, w.log)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// refuse calls a tool and returns the error.
func (w *world) refuse(t testing.TB, ctx context.Context, server, tool, input string) *Error {
	t.Helper()
	raw, err := w.Call(ctx, Request{Server: server, Tool: tool, Input: json.RawMessage(input)})
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: got %.200s, %v; want an *Error\n%s", tool, raw, err, w.log)
	}
	return e
}

// records keeps what was logged.
type records struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// raw is a server that says what it likes.
type raw struct {
	in  *bufio.Reader
	out io.Writer
}

// request is what a client asks.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (r *raw) say(format string, args ...any) error {
	_, err := fmt.Fprintf(r.out, format+"\n", args...)
	return err
}

func (r *raw) reply(q request, result string) error {
	return r.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, strings.ReplaceAll(result, "\n", ""))
}

// serve answers the handshake and hands everything else to each, until the client
// goes away.
func (r *raw) serve(each func(q request) error) error {
	for {
		line, err := r.in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var q request
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		switch {
		case q.Method == "initialize":
			err = r.reply(q, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"0"}}`)
		case q.ID == nil:
		case q.Method == "server/discover":
			err = r.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, q.ID)
		default:
			err = each(q)
		}
		if err != nil {
			return err
		}
	}
}

// listOf answers tools/list with a list, and calls with the text of result.
func listOf(list, result string) func(*raw) error {
	return func(r *raw) error {
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				return r.reply(q, list)
			}
			return r.reply(q, result)
		})
	}
}

// waitGone waits for the end of a process that was killed; a zombie has ended.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	if err := hosttest.AwaitExit(pid); err != nil {
		t.Fatal(err)
	}
}
