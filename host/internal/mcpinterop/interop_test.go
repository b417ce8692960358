//go:build interop && linux

package mcpinterop_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
)

// join puts data into one server, and joins it with data of the two others.
func (w *world) join() call {
	return cell(`
		await MCP.memory.createEntities({ entities: [
			{ name: "ada", entityType: "person", observations: ["room 7"] },
			{ name: "bob", entityType: "person", observations: ["room 9"] },
		] });
		const { entities } = (await MCP.memory.readGraph({})).structuredContent;
		const scores = JSON.parse((await MCP.files.readTextFile({ path: ` + quote(filepath.Join(w.files, "scores.json")) + ` })).content[0].text);
		return Promise.all(scores.map(async ({ name, points }) => ({
			name,
			room: entities.find((e) => e.name === name).observations[0],
			sum: (await MCP.everything.getSum({ a: points, b: 2 })).content[0].text,
		})));`)
}

// quote returns a text as JavaScript.
func quote(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always can
	}
	return string(out)
}

const joined = `[{"name":"ada","room":"room 7","sum":"The sum of 40 and 2 is 42."},{"name":"bob","room":"room 9","sum":"The sum of 2 and 2 is 4."}]`

// eras are the generations of the TypeScript SDK with the protocol that they speak.
var eras = map[string]string{"old": "2025-11-25", "new": "2026-07-28"}

func TestClientsJoinThreeServers(t *testing.T) {
	for sdk, protocol := range eras {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(sdk+" "+transport, func(t *testing.T) {
				w := newWorld(t)
				what, target := task{Args: w.args(), Calls: []call{w.join()}}, quoin
				if transport == "http" {
					target, _ = w.serve(t)
				}
				r := client(t, sdk, transport, target, what)
				if r.Protocol != protocol || !slices.Equal(r.Tools, []string{"exec", "wait"}) {
					t.Errorf("protocol %q, tools %q", r.Protocol, r.Tools)
				}
				if got := r.Results[0]; got.IsError || got.Structured.Status != "completed" || string(got.Structured.Value) != joined {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

// TestQuestionsReachTheClient: what a server asks in the middle of a call is asked by
// Quoin in the way of the client's protocol.
func TestQuestionsReachTheClient(t *testing.T) {
	const program = `return (await MCP.everything.triggerElicitationRequest({})).content.map((c) => c.text).join("\n");`
	for sdk := range eras {
		for action, want := range map[string]string{"accept": "- Name: Ada", "decline": "declined", "cancel": "cancelled"} {
			t.Run(sdk+" "+action, func(t *testing.T) {
				answer := map[string]any{"action": action}
				if action == "accept" {
					answer["content"] = map[string]any{"name": "Ada", "check": true}
				}
				w := newWorld(t)
				r := client(t, sdk, "stdio", quoin, task{Args: w.args(), Answer: answer, Calls: []call{cell(program)}})
				if got := r.Results[0]; got.Structured.Status != "completed" || !strings.Contains(string(got.Structured.Value), want) {
					t.Errorf("want %q: %+v", want, got)
				}
				if len(r.Asked) != 1 || !strings.Contains(r.Asked[0], "everything asks") {
					t.Errorf("asked %q", r.Asked)
				}
			})
		}
	}
}

// TestClientWithoutQuestions: a client that cannot ask gets a run that waits.
func TestClientWithoutQuestions(t *testing.T) {
	w := newWorld(t)
	r := client(t, "old", "stdio", quoin, task{Args: w.args(), Calls: []call{cell(`return await MCP.everything.triggerElicitationRequest({})`)}})
	if got := r.Results[0]; got.Structured.Status != "waiting" || got.Structured.RunID == "" || !strings.Contains(got.Content[0].Text, "everything") {
		t.Errorf("%+v", got)
	}
}

func TestInspector(t *testing.T) {
	w := newWorld(t)
	url, _ := w.serve(t)
	script := filepath.Join(modules, ".bin", "mcp-inspector")
	for name, target := range map[string][]string{"http": {url, "--transport", "http"}, "stdio": nil} {
		t.Run(name, func(t *testing.T) {
			call := func(args ...string) json.RawMessage {
				all := append([]string{script, "--cli"}, target...)
				all = append(all, append(args, "--format", "json")...)
				if target == nil {
					other := newWorld(t)
					all = append(append(all, "--", quoin), other.args()...)
				}
				var out struct {
					Result json.RawMessage `json:"result"`
				}
				if err := json.Unmarshal(run(t, nil, all...), &out); err != nil {
					t.Fatal(err)
				}
				return out.Result
			}
			var list struct {
				Tools []struct {
					Name string `json:"name"`
				} `json:"tools"`
			}
			if err := json.Unmarshal(call("--method", "tools/list", "--strict"), &list); err != nil || len(list.Tools) != 2 {
				t.Errorf("%+v, %v", list, err)
			}
			var got result
			raw := call("--method", "tools/call", "--tool-name", "exec", "--tool-args-json", `{"code":"return (await MCP.everything.echo({message:'hello'})).content[0].text"}`)
			if err := json.Unmarshal(raw, &got); err != nil || string(got.Structured.Value) != `"Echo: hello"` {
				t.Errorf("%s, %v", raw, err)
			}
		})
	}
}

// TestServerIsKilledInACall: the call ends with a code, the others continue, and the server
// is back at the next attempt.
func TestServerIsKilledInACall(t *testing.T) {
	w := newWorld(t)
	url, pid := w.serve(t)
	first := client(t, "new", "http", url, task{Calls: []call{cell(`return (await MCP.everything.echo({ message: "up" })).content[0].text`)}})
	if string(first.Results[0].Structured.Value) != `"Echo: up"` {
		t.Fatalf("%+v", first)
	}
	// The program tells by a file that its call is under way.
	started := filepath.Join(w.files, "started")
	ended := make(chan report, 1)
	go func() {
		ended <- client(t, "new", "http", url, task{Calls: []call{cell(`
			const long = MCP.everything.triggerLongRunningOperation({ duration: 600, steps: 600 }).then(() => "ended", (e) => e.code);
			await MCP.files.writeFile({ path: ` + quote(started) + `, content: "now" });
			return [await long, (await MCP.memory.readGraph({})).structuredContent.entities.length];`)}})
	}()
	if err := hosttest.AwaitFile(t.Context(), started, "now"); err != nil {
		t.Fatal(err)
	}
	children, err := hosttest.Children(pid)
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, c := range children {
		if isServer(t, c.PID, "server-everything") {
			killed++
			if err := syscall.Kill(c.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if killed != 1 {
		t.Fatalf("killed %d servers of %+v", killed, children)
	}
	r := <-ended
	if got := string(r.Results[0].Structured.Value); got != `["mcp_closed",0]` {
		t.Errorf("%s: %+v", got, r.Results[0])
	}
	// A program that asks until the server is back.
	again := client(t, "old", "http", url, task{Calls: []call{cell(`
		for (;;) {
			try { return (await MCP.everything.echo({ message: "back" })).content[0].text; }
			catch (e) { await new Promise((ok) => setTimeout(ok, 100)); }
		}`)}})
	for i := 0; i < 20 && string(again.Results[0].Structured.Value) != `"Echo: back"`; i++ {
		again = client(t, "old", "http", url, task{Calls: []call{cell(`return (await MCP.everything.echo({ message: "back" })).content[0].text`)}})
	}
	if string(again.Results[0].Structured.Value) != `"Echo: back"` {
		t.Errorf("%+v", again)
	}
}
