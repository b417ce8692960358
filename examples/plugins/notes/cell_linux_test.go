package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/hosttest"
)

var session = host.Session{AgentID: "test", SessionID: "test"}

// notesHost returns a host with notes as its only plugin.
func notesHost(t *testing.T, c host.Config) *host.Host {
	t.Helper()
	c.Plugins.Dir = filepath.Dir(installed(t))
	c.Logger = slog.New(slog.DiscardHandler)
	var err error
	if c.Guests.Path, err = hosttest.Guest(); err != nil {
		t.Fatal(err)
	}
	h, err := host.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// want runs a cell and compares its value, which is JSON.
func want(t *testing.T, h *host.Host, code, value string) {
	t.Helper()
	r := h.Exec(t.Context(), session, host.ExecInput{Code: code})
	for r.Status == host.StatusWaiting { // on a slow machine
		r = h.Wait(t.Context(), session, r.RunID)
	}
	if r.Status != host.StatusCompleted || string(r.Value) != value {
		t.Errorf("%s\ngot  %s %s%s\nwant %s", code, r.Status, r.Error, r.Value, value)
	}
}

func TestACell(t *testing.T) {
	h := notesHost(t, host.Config{})
	want(t, h, `
const put = await Notes.put("Groceries", "Milk, bread #shopping");
await Notes.append("Groceries", "Eggs", "Tea");
await Notes.todo("call the plumber");
const { text } = await Notes.get("Groceries");
return [put.revision, text.split("\n"), await Notes.find("eggs -wine #shopping"), Notes.titles, Notes.limits.titleCharacters]`,
		`[1,["Milk, bread #shopping","Eggs","Tea"],[{"title":"Groceries","line":"Milk, bread #shopping"}],[],200]`)
	want(t, h, `
const changed = Notes.changes({since: 3}); // waits for the next line
await Notes.put("News", "none");
return [(await changed).changes, Notes.titles, await Notes.pin("News")]`,
		`[[{"title":"News","removed":false}],["Groceries","To do"],{"pinned":["News"]}]`)
}

// TestTypes: positional names become parameters of the declaration that a model
// reads.
func TestTypes(t *testing.T) {
	h := notesHost(t, host.Config{})
	r := h.Exec(t.Context(), session, host.ExecInput{Code: `
const file = await API.read("namespaces/Notes.d.ts");
return typeof file === "string" ? file : file.content`})
	for _, want := range []string{"put(title: string, text: string, ifRevision?: number", "append(title: string, ...lines: string[]", "titles"} {
		if !strings.Contains(string(r.Value), want) {
			t.Errorf("the declaration lacks %q:\n%s %s", want, r.Error, strings.ReplaceAll(string(r.Value), `\n`, "\n"))
		}
	}
}

func TestErrorsReachTheProgram(t *testing.T) {
	h := notesHost(t, host.Config{})
	for code, value := range map[string]string{
		`Notes.get("Grocery list")`:           `["not_found","quoin:notes:notes_get",true]`,
		`Notes.put("A", "a", 7)`:              `["conflict","quoin:notes:notes_put",true]`,
		`Notes.changes({since: 99})`:          `["unknown_revision","quoin:notes:notes_changes",true]`,
		`Notes.find(1)`:                       `["invalid_input",null,true]`,
		`Notes.put("", "a")`:                  `["invalid_input","quoin:notes:notes_put",true]`,
		`tools.call("notes_get", {name: ""})`: `["invalid_input","quoin:notes:notes_get",true]`,
	} {
		want(t, h, `try { return await `+code+` } catch (e) { return [e.code, e.toolId ?? null, e.message.length > 10] }`, value)
	}
}

// TestALargeResult: near the limit of what a guest may get, and over the limit of a message.
func TestALargeResult(t *testing.T) {
	h := notesHost(t, host.Config{})
	want(t, h, `
const text = "日".repeat(1_000_000); // 3 MB
for (let i = 0; i < 2; i++) await Notes.put("n" + i, text);
const { notes, markdown } = await Notes.export();
for (let i = 2; i < 6; i++) await Notes.put("n" + i, text);
try { await Notes.export() } catch (e) { return [notes, markdown.length > 2_000_000, e.code] }`, `[2,true,"reply_too_large"]`)
}

// TestCancellation: a run that is given up ends, and so does its call in the plugin,
// which takes others.
func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := notesHost(t, host.Config{Trajectory: host.TrajectoryConfig{OnEvent: func(e trajectory.Event) {
		if e.ToolName == "notes_put" && e.Outcome != "" {
			cancel()
		}
	}}})
	r := h.Exec(ctx, session, host.ExecInput{Code: `
await Notes.put("A", "a");
return await Promise.all([Notes.changes({since: 1}), Notes.changes({since: 1})])`})
	if r.Status != host.StatusFailed || r.Code != "aborted" {
		t.Errorf("the run ended %s %s %s, %s", r.Status, r.Code, r.Error, r.Value)
	}
	want(t, h, `return (await Notes.get("A")).text`, `"a"`)
}

// TestAKilledPlugin: calls that were running say so, and the plugin comes back with
// what it has kept.
func TestAKilledPlugin(t *testing.T) {
	var node int
	h := notesHost(t, host.Config{Trajectory: host.TrajectoryConfig{OnEvent: func(e trajectory.Event) {
		if e.ToolName == "notes_find" && e.Outcome != "" {
			if err := syscall.Kill(node, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}}})
	children, err := hosttest.Children(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		if c.Name == "notes.mjs" { // what the kernel calls a script
			node = c.PID
		}
	}
	if node == 0 {
		t.Fatalf("no node among %v", children)
	}
	want(t, h, `
await Notes.put("A", "a");
const waiting = Notes.changes({since: 1}).catch((e) => e);
await Notes.find("a");
return /^plugin_(crashed|restarting)$/.test((await waiting).code)`, `true`)
	again := host.ExecInput{Code: "try { return (await Notes.get('A')).text } catch (e) { return e.code === 'not_found' ? e.message : ['again', e.code] }"}
	r := h.Exec(t.Context(), session, again)
	for strings.HasPrefix(string(r.Value), `["again"`) {
		r = h.Exec(t.Context(), session, again)
	}
	if string(r.Value) != `"a"` {
		t.Errorf("the plugin came back with %s %s", r.Value, r.Error)
	}
}
