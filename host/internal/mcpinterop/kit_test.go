//go:build interop && linux

package mcpinterop_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/hosttest"
)

// nodeVersion is the version of the Node which runs everything: the Inspector needs 22.19.
const nodeVersion = "22.23.3"

// What TestMain has installed and built.
var (
	modules, node, quoin string
	workDir              string
)

func TestMain(m *testing.M) {
	code := 1
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "mcp-interop:", err)
	} else {
		code = m.Run()
	}
	if err := os.RemoveAll(workDir); err != nil {
		fmt.Fprintln(os.Stderr, "mcp-interop:", err)
		code = 1
	}
	os.Exit(code)
}

// prepare installs the packages and builds the command with its guest.
func prepare() (err error) {
	if workDir, err = os.MkdirTemp("", "mcp-interop-"); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "client.mjs"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(workDir, name), text, 0o600); err != nil {
			return err
		}
	}
	arch := cmp.Or(map[string]string{"amd64": "x64"}[runtime.GOARCH], runtime.GOARCH)
	name := "node-linux-" + arch
	start := time.Now()
	// Not --prefix, which would move npm's global configuration too.
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--loglevel", "error", "--ignore-scripts", name+"@"+nodeVersion)
	install.Dir = workDir
	if said, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install, which needs npm and its registry: %w\n%s", err, said)
	}
	fmt.Printf("mcp-interop: packages installed in %v\n", time.Since(start).Round(time.Second))
	modules = filepath.Join(workDir, "node_modules")
	node = filepath.Join(modules, name, "bin", "node")
	quoin = filepath.Join(workDir, "quoin")
	if said, err := exec.Command("go", "build", "-pgo=off", "-o", quoin, "github.com/quoinhq/quoin/host/cmd/quoin").CombinedOutput(); err != nil {
		return fmt.Errorf("building quoin: %w\n%s", err, said)
	}
	guest, err := hosttest.Guest()
	if err != nil {
		return err
	}
	return os.Symlink(guest, filepath.Join(workDir, "quoin-guest"))
}

// world is one configuration: three servers, and files that they serve.
type world struct{ dir, config, files string }

// newWorld writes a configuration of the three servers.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	w.config, w.files = filepath.Join(w.dir, "quoin.json5"), filepath.Join(w.dir, "files")
	server := func(name string) string {
		return filepath.Join(modules, "@modelcontextprotocol", name, "dist", "index.js")
	}
	config := map[string]any{"mcp": map[string]any{"servers": map[string]any{
		"everything": map[string]any{"command": node, "args": []string{server("server-everything"), "stdio"}, "trustHints": false},
		"files":      map[string]any{"command": node, "args": []string{server("server-filesystem"), w.files}},
		"memory":     map[string]any{"command": node, "args": []string{server("server-memory")}, "env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(w.dir, "memory.jsonl")}},
	}}}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Mkdir(w.files, 0o700),
		os.WriteFile(filepath.Join(w.files, "scores.json"), []byte(`[{"name":"ada","points":40},{"name":"bob","points":2}]`), 0o600),
		os.WriteFile(w.config, text, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// args returns the arguments of quoin mcp serve.
func (w *world) args() []string {
	return []string{"mcp", "serve", "--config", w.config, "--state", filepath.Join(w.dir, "state"), "--plugins", "none"}
}

// serve starts quoin serve and returns its URL of MCP and its process.
func (w *world) serve(t *testing.T) (url string, pid int) {
	t.Helper()
	address := filepath.Join(w.dir, "address")
	var log bytes.Buffer
	cmd := exec.Command(quoin, "serve", "--config", w.config, "--state", filepath.Join(w.dir, "state"), "--plugins", "none", "--listen", "127.0.0.1:0", "--address-file", address)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it is waited for
		if err := cmd.Wait(); err != nil {
			t.Errorf("quoin serve: %v", err)
		}
		if t.Failed() {
			t.Logf("%s", log.Bytes())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := hosttest.AwaitFile(ctx, address, "http"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(address)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text)) + "/mcp", cmd.Process.Pid
}

// task says what a client does.
type task struct {
	Args   []string `json:"args,omitempty"`
	Answer any      `json:"answer,omitempty"` // to every question
	Calls  []call   `json:"calls"`
}

// call is one call of a tool.
type call struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// cell calls exec.
func cell(code string) call { return call{"exec", map[string]any{"code": code}} }

// report is what a client says.
type report struct {
	Protocol string   `json:"protocol"`
	Tools    []string `json:"tools"`
	Results  []result `json:"results"`
	Asked    []string `json:"asked"`
}

// result is the result of exec.
type result struct {
	IsError bool `json:"isError"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured struct {
		Status string          `json:"status"`
		RunID  string          `json:"runId"`
		Value  json.RawMessage `json:"value"`
		Error  json.RawMessage `json:"error"`
	} `json:"structuredContent"`
}

// client runs a client of a generation of the TypeScript SDK.
func client(t *testing.T, sdk, transport, target string, what task) report {
	t.Helper()
	input, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	var out report
	if err := json.Unmarshal(run(t, input, filepath.Join(workDir, "client.mjs"), sdk, transport, target), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// run runs a script and returns what it writes.
func run(t *testing.T, input []byte, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, args...)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Env = append(os.Environ(), "HOME="+workDir, "NO_COLOR=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, out, errs.Bytes())
	}
	return out
}
