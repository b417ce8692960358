package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
)

// report is a program to save: it takes an input, and calls a tool.
const report = `
const { days, label } = programs.input({ days: 7, label: "bug" });
const got = await tools.echo({ days, label });
return got.label + " in " + got.days + " days";`

// weekly saves report as weekly-report, with days and label as its input.
func weekly(t *testing.T, h *host.Host, s host.Session, rq programs.Request) *programs.Program {
	t.Helper()
	wantValue(t, h.Exec(t.Context(), s, host.ExecInput{Code: report, Title: "Weekly report of labels"}), `"bug in 7 days"`)
	rq.Name = "weekly-report"
	if rq.Example == nil {
		rq.Example = json.RawMessage(`{"days": 7, "label": "bug"}`)
	}
	p, err := h.Programs().Save(t.Context(), s, rq, "test")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSavedProgramsRun: a program that was saved runs by its name, with an input that its
// schema takes, in JavaScript and TypeScript, and is found by searches.
func TestSavedProgramsRun(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}, Programs: host.ProgramConfig{Store: &programs.Memory{}}})
	p := weekly(t, h, me, programs.Request{})
	if len(p.Tools) != 1 || p.Tools[0].ID != "quoin:core:echo" || p.Tools[0].Digest == "" {
		t.Errorf("it is pinned to %+v", p.Tools)
	}
	for _, tc := range []struct{ code, want string }{
		{`return await programs.run("weekly-report", { days: 30 })`, `"bug in 30 days"`},
		{`return await programs.run("weekly-report")`, `"bug in 7 days"`},
		{`return (await Promise.all([1, 2].map((days) => programs.run("weekly-report", { days })))).join()`, `"bug in 1 days,bug in 2 days"`},
		{`return programs.input({ days: 7 })`, `{"days":7}`},
		{`return programs.list()`, `[{"name":"weekly-report","description":"Weekly report of labels","input":{"additionalProperties":false,"properties":{"days":{"type":"integer"},"label":{"type":"string"}},"type":"object"}}]`},
		{`return (await tools.search("weekly report", { limit: 1 }))[0].call`, `"programs.run(\"weekly-report\", { days?: integer, label?: string })"`},
		{`return (await tools.describe("quoin:programs:weekly-report")).parameters.properties.days`, `{"type":"integer"}`},
		{`return (await API.read("programs/weekly-report.d.ts")).content`, `"interface ProgramInputs {\n  /** Weekly report of labels */\n  \"weekly-report\": {\n    /** Integer. */\n    days?: number;\n    label?: string;\n  };\n}\n"`},
		{`return (await API.list("programs")).files.length`, `1`},
		{`return programs.run.toString().includes("native code")`, `true`},
		{`try { await programs.run("weekly-report", { days: "x" }) } catch (e) { return e.code + " " + e.toolId }`, `"invalid_input quoin:programs:weekly-report"`},
		{`try { await programs.run("weekly") } catch (e) { return e.code + ": " + e.message }`, `"program_not_found: There is no saved program \"weekly\". There are: weekly-report."`},
		{`try { await tools.call("quoin:programs:weekly-report") } catch (e) { return e.message }`, `"quoin:programs:weekly-report is a saved program: programs.run(\"weekly-report\", input) runs it."`},
		{`try { await programs.save("x") } catch (e) { return e.code }`, `"not_allowed"`},
		{`try { await programs.run(7) } catch (e) { return e.message }`, `"programs.run expects the name of a program, such as \"weekly-report\", got number"`},
	} {
		if r := exec(h, tc.code); string(r.Value) != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.code, show(r), tc.want)
		}
	}
	wantValue(t, h.Programs().Run(t.Context(), me, "weekly-report", json.RawMessage(`{"label":"cost"}`), host.ExecInput{}), `"cost in 7 days"`)
	wantFailure(t, h.Programs().Run(t.Context(), me, "weekly report", nil, host.ExecInput{}), codemode.CodeInvalidInput, "", codemode.PhaseInput)

	typed := h.Exec(t.Context(), me, host.ExecInput{Language: "typescript", Code: `
const { n }: { n: number } = programs.input({ n: 1 });
using held = { [Symbol.dispose]() { text("disposed") } };
return n as number + 1;`})
	wantValue(t, typed, `2`)
	if _, err := h.Programs().Save(t.Context(), me, programs.Request{Name: "typed"}, "test"); err != nil {
		t.Fatal(err)
	}
	r := exec(h, `return [await programs.run("typed", { n: 41 }), typeof __using]`)
	wantValue(t, r, `[42,"undefined"]`)
	if len(r.Output) != 1 || r.Output[0].Text() != "disposed" {
		t.Errorf("output %+v", r.Output)
	}
}

// TestRunningOneIsNoProgram: the cell that only runs a saved program cannot take its place.
func TestRunningOneIsNoProgram(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}, Programs: host.ProgramConfig{Store: &programs.Memory{}}})
	saved := weekly(t, h, me, programs.Request{})
	wantValue(t, h.Programs().Run(t.Context(), me, saved.Name, json.RawMessage(`{"label":"a\"b <c>"}`), host.ExecInput{}), `"a\"b <c> in 7 days"`)
	wantValue(t, h.Programs().Run(t.Context(), me, saved.Name, nil, host.ExecInput{}), `"bug in 7 days"`)
	if p, err := h.Programs().Save(t.Context(), me, programs.Request{Name: saved.Name, Replace: true}, "test"); err != nil || p.Code != saved.Code {
		t.Errorf("saved %+v, %v", p, err)
	}
	wantValue(t, exec(h, `return await programs.run("weekly-report") + "!"`), `"bug in 7 days!"`)
	if p, err := h.Programs().Save(t.Context(), me, programs.Request{Name: "loud"}, "test"); err != nil || p.Code == saved.Code {
		t.Errorf("saved %+v, %v", p, err)
	}
}

// TestSavedProgramsAreBounded: programs may run each other so deep, and no deeper.
func TestSavedProgramsAreBounded(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Programs: host.ProgramConfig{Store: &programs.Memory{}}})
	wantValue(t, exec(h, `const { n } = programs.input({ n: -1 }); return n < 0 ? 0 : 1 + await programs.run("again", { n })`), `0`)
	if _, err := h.Programs().Save(t.Context(), me, programs.Request{Name: "again"}, "test"); err != nil {
		t.Fatal(err)
	}
	wantValue(t, exec(h, `try { await programs.run("again", { n: 1 }) } catch (e) { return e.code }`), `"program_too_deep"`)
	wantValue(t, exec(h, `return await programs.run("again", { n: -1 })`), `0`)
}

// TestSavedProgramsBelongToTheirAudience: a session finds its own programs, its agent's
// programs and everyone's, the narrowest first.
func TestSavedProgramsBelongToTheirAudience(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}, Programs: host.ProgramConfig{Store: &programs.Memory{}}})
	ada, bob, eve := host.Session{AgentID: "a", SessionID: "ada"}, host.Session{AgentID: "a", SessionID: "bob"}, host.Session{AgentID: "e", SessionID: "eve"}
	weekly(t, h, ada, programs.Request{Description: "of ada"})
	of := func(s host.Session) string {
		var out []string
		list, err := h.Programs().List(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if p.Code != "" {
				t.Error("a list has code")
			}
			out = append(out, p.Description)
		}
		return strings.Join(out, ",")
	}
	if got := of(ada) + "|" + of(bob) + "|" + of(eve); got != "of ada||" {
		t.Errorf("visible: %s", got)
	}
	if _, err := h.Programs().Save(t.Context(), eve, programs.Request{Name: "stolen"}, "test"); !errors.Is(err, programs.NotFound) {
		t.Errorf("a program of another session: %v", err)
	}
	weekly(t, h, bob, programs.Request{Description: "of the agent", For: programs.ForAgent})
	weekly(t, h, bob, programs.Request{Description: "of everyone", For: programs.ForEveryone})
	if got := of(ada) + "|" + of(bob) + "|" + of(eve); got != "of ada|of the agent|of everyone" {
		t.Errorf("visible: %s", got)
	}
	if _, err := h.Programs().Save(t.Context(), bob, programs.Request{Name: "weekly-report", For: programs.ForAgent}, "test"); !errors.Is(err, programs.Exists) {
		t.Errorf("a name twice: %v", err)
	}
	if err := h.Programs().Remove(t.Context(), ada, "weekly-report", ""); !errors.Is(err, programs.Invalid) || !strings.Contains(err.Error(), "session, agent, everyone") {
		t.Errorf("a removal that may mean several: %v", err)
	}
	for i, want := range []error{nil, programs.NotFound} { // a removal that is made again removes no other
		if err := h.Programs().Remove(t.Context(), ada, "weekly-report", programs.ForSession); !errors.Is(err, want) || of(ada) != "of the agent" {
			t.Errorf("removal %d: %v, %s", i+1, err, of(ada))
		}
	}
	if err := h.Programs().Remove(t.Context(), ada, "weekly-report", "agents"); !errors.Is(err, programs.Invalid) {
		t.Errorf("a removal for no audience: %v", err)
	}
	r := h.Exec(t.Context(), ada, host.ExecInput{Code: `return await programs.run("weekly-report")`, Rules: policy.Rules{Deny: []string{"owner:programs"}}})
	if r.Status != host.StatusFailed || !strings.Contains(r.Error, `no saved program "weekly-report"`) {
		t.Errorf("rules: %s", show(r))
	}
}

// TestSavedProgramsWantAReview: if its tools have changed, a program is not run until a person
// has accepted the change.
func TestSavedProgramsWantAReview(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo"), echo("other")}, Programs: host.ProgramConfig{Store: &programs.Memory{}}})
	weekly(t, h, me, programs.Request{})
	changed := echo("echo")
	changed.Parameters = json.RawMessage(`{"type":"object","properties":{"days":{"type":"integer"},"label":{"type":"string"},"limit":{"type":"integer"}}}`)
	if err := h.Replace(changed, echo("other")); err != nil {
		t.Fatal(err)
	}
	caught := exec(h, `try { await programs.run("weekly-report") } catch (e) { return e.code + " " + e.effectStatus + ": " + e.message }`)
	wantValue(t, caught, `"program_changed none: The saved program weekly-report was not run: its tools have changed since it was saved: quoin:core:echo. A person reviews it with: quoin programs review weekly-report. Until then, write the program again."`)
	review, err := h.Programs().Get(t.Context(), me, "weekly-report")
	if err != nil || len(review.Changes) != 1 || !strings.Contains(review.Changes[0].Is, "limit?: integer") || strings.Contains(review.Changes[0].Was, "limit") {
		t.Fatalf("review: %+v, %v", review, err)
	}
	seen := review.Digest
	for name, meanwhile := range map[string]func(){
		"nothing that was seen": func() { seen = "" },
		"a tool that changed since": func() {
			seen = digestOf(t, h)
			if err := h.Replace(echo("echo"), echo("other")); err != nil {
				t.Fatal(err)
			}
		},
		"a program that was replaced since": func() {
			seen = digestOf(t, h)
			if err := h.Replace(echo("echo"), echo("other")); err != nil {
				t.Fatal(err)
			}
			weekly(t, h, me, programs.Request{Replace: true, Description: "another one"})
			if err := h.Replace(changed, echo("other")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		meanwhile()
		if review, err := h.Programs().Accept(t.Context(), me, "weekly-report", seen, "ada"); !errors.Is(err, programs.Changed) {
			t.Errorf("%s: %+v, %v", name, review, err)
		}
		if err := h.Replace(changed, echo("other")); err != nil {
			t.Fatal(err)
		}
	}
	if review, err = h.Programs().Accept(t.Context(), me, "weekly-report", digestOf(t, h), "ada"); err != nil || len(review.Changes) != 0 || review.By != "ada" {
		t.Fatalf("accepted: %+v, %v", review, err)
	}
	wantValue(t, exec(h, `return await programs.run("weekly-report")`), `"bug in 7 days"`)
	if err := h.Replace(echo("other")); err != nil {
		t.Fatal(err)
	}
	if r := exec(h, `return await programs.run("weekly-report")`); !strings.Contains(r.Error, "quoin:core:echo (gone)") {
		t.Errorf("without its tool: %s", show(r))
	}
	if review, err = h.Programs().Accept(t.Context(), me, "weekly-report", digestOf(t, h), "ada"); err != nil || len(review.Changes) != 1 {
		t.Errorf("a tool that is gone was accepted: %+v, %v", review, err)
	}
}

// digestOf is the digest of a review of the program weekly-report.
func digestOf(t *testing.T, h *host.Host) string {
	t.Helper()
	review, err := h.Programs().Get(t.Context(), me, "weekly-report")
	if err != nil || review.Digest == "" {
		t.Fatalf("review: %+v, %v", review, err)
	}
	return review.Digest
}

// TestSavedProgramsPassTheHooks: hooks see the text of a saved program before it starts,
// and each of its calls.
func TestSavedProgramsPassTheHooks(t *testing.T) {
	t.Parallel()
	var seen []string
	block := ""
	hook := policy.Hook{Name: "watch", Before: func(_ context.Context, c *policy.Call) (policy.Verdict, error) {
		seen = append(seen, string(c.Kind)+" "+c.ToolID)
		if c.Kind == policy.KindExec && strings.Contains(string(c.Params), "programs.input") && block != "" {
			return policy.Verdict{Block: true, Reason: block}, nil
		}
		return policy.Verdict{}, nil
	}}
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}, Hooks: []policy.Hook{hook}, Programs: host.ProgramConfig{Store: &programs.Memory{}, ModelsSave: true}})
	weekly(t, h, me, programs.Request{})
	seen = nil
	wantValue(t, exec(h, `return await programs.run("weekly-report")`), `"bug in 7 days"`)
	program := seen[0] // the cell itself
	if want := []string{program, program, string(policy.KindTool) + " quoin:programs:weekly-report", string(policy.KindTool) + " quoin:core:echo"}; !slices.Equal(seen, want) {
		t.Errorf("hooks saw %q, want %q", seen, want)
	}
	block = "no reports today"
	if r := exec(h, `try { await programs.run("weekly-report") } catch (e) { return e.code }`); string(r.Value) != `"blocked"` {
		t.Errorf("blocked: %s", show(r))
	}
	block = ""
	wantValue(t, exec(h, `return (await programs.save("mine", { description: "What I did." })).name`), `"mine"`)
	p, err := h.Programs().Get(t.Context(), me, "mine")
	if err != nil || p.By != "model" || p.For != programs.ForSession {
		t.Errorf("saved by a model: %+v, %v", p, err)
	}
}

// TestSavedProgramsSurvive: a program is saved of a run that another process has ended,
// from a directory, and it is suspended and resumed like any part of its run.
func TestSavedProgramsSurvive(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	open := func() host.Config {
		state := openState(t, dir)
		return host.Config{Store: state, Tools: []catalog.Tool{echo("echo")}, Programs: host.ProgramConfig{Store: state.Programs()}}
	}
	const code = `const { n } = programs.input({ n: 1 }); await yield_control(); return (await tools.echo({ n })).n + 1`
	first := start(t, open())
	id := wantWaiting(t, exec(first, code), codemode.ReasonYield)
	if _, err := first.Programs().Save(t.Context(), me, programs.Request{RunID: id, Name: "early"}, "test"); !errors.Is(err, programs.Invalid) {
		t.Errorf("a run that goes on: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, open())
	wantValue(t, second.Wait(t.Context(), me, id), `2`)
	p, err := second.Programs().Save(t.Context(), me, programs.Request{RunID: id, Name: "late"}, "test")
	if err != nil || p.Code != code || len(p.Tools) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	id = wantWaiting(t, exec(second, `return await programs.run("late", { n: 41 })`), codemode.ReasonYield)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third := start(t, open())
	wantValue(t, third.Wait(t.Context(), me, id), `42`)
}

// TestNoPrograms: without a store nothing is kept, and a program that asks learns so.
func TestNoPrograms(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	wantValue(t, exec(h, `try { await programs.run("x") } catch (e) { return e.message }`), `"No programs are saved here."`)
	wantValue(t, exec(h, `return programs.list()`), `[]`)
	if _, err := h.Programs().Save(t.Context(), codemode.Session{}, programs.Request{Name: "x"}, "test"); !errors.Is(err, programs.NotFound) {
		t.Error(err)
	}
}

// TestRunningASavedProgramIsCheap: to run a program of 19 KB again costs a model at most
// 150 tokens, its call and the answer together.
func TestRunningASavedProgramIsCheap(t *testing.T) {
	t.Parallel()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}, Programs: host.ProgramConfig{Store: &programs.Memory{}}})
	var code strings.Builder
	code.WriteString("const { days } = programs.input({ days: 7 });\nlet found = 0;\n")
	for code.Len() < 19<<10 {
		fmt.Fprintf(&code, "found += (await tools.echo({ n: %d })).n; // the next of the things that this report counts\n", code.Len())
	}
	code.WriteString("return { days, found };")
	first := exec(h, code.String())
	if first.Status != host.StatusCompleted {
		t.Fatal(show(first))
	}
	if _, err := h.Programs().Save(t.Context(), me, programs.Request{Name: "weekly-report", Example: json.RawMessage(`{"days":7}`)}, "test"); err != nil {
		t.Fatal(err)
	}
	turn, err := h.ModelTools(t.Context(), me, nil, host.ModelToolsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if said := turn.Visible[0].Description; !strings.Contains(said, `- programs.run("weekly-report", { days?: integer })`) {
		t.Errorf("the model is not told of the program: %s", said)
	}
	denied, err := h.ModelTools(t.Context(), me, nil, host.ModelToolsOptions{Rules: policy.Rules{Deny: []string{"owner:programs"}}})
	if err != nil || strings.Contains(denied.Visible[0].Description, "weekly-report") {
		t.Errorf("the model is told of a program that it may not run: %v", err)
	}
	arguments := json.RawMessage(`{"code":"return await programs.run(\"weekly-report\", { days: 30 })"}`)
	answer, err := turn.Visible[0].Invoke(t.Context(), catalog.Invocation{Input: arguments})
	if err != nil || !strings.Contains(string(answer), `"days":30`) {
		t.Fatalf("%s, %v", answer, err)
	}
	again, err := codec.Count(string(arguments) + string(answer))
	if err != nil {
		t.Fatal(err)
	}
	once, err := codec.Count(code.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("written once: %d bytes, %d tokens; run again: %d tokens", code.Len(), once, again)
	if again > 150 {
		t.Errorf("it costs %d tokens: %s %s", again, arguments, answer)
	}
}
