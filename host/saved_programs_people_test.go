package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
)

// saved saves a program that returns a value.
func saved(t *testing.T, h *host.Host, name, value string, replace bool) {
	t.Helper()
	wantValue(t, h.Exec(t.Context(), me, host.ExecInput{Code: "return " + value}), value)
	if _, err := h.Programs().Save(t.Context(), me, programs.Request{Name: name, Replace: replace}, "test"); err != nil {
		t.Fatal(err)
	}
}

// TestApprovalsAreOfTheSavedProgram that a person was asked about: not of another program that
// has its name by the time that its run resumes, and not of its text before hooks have
// rewritten it.
func TestApprovalsAreOfTheSavedProgram(t *testing.T) {
	t.Parallel()
	const start0 = `try { return await programs.run("answer") } catch (e) { return e.code + " " + e.effectStatus }`
	rewrite := policy.Hook{Name: "rewrite", Before: func(_ context.Context, c *policy.Call) (policy.Verdict, error) {
		if c.Kind != policy.KindExec || !strings.Contains(string(c.Params), "return 42") {
			return policy.Verdict{}, nil
		}
		return policy.Verdict{Params: json.RawMessage(`{"code":"return 43"}`)}, nil
	}}
	for _, tc := range []struct {
		name      string
		hooks     []policy.Hook
		meanwhile func(*host.Host)
		want      string
	}{
		{"as it was", nil, func(*host.Host) {}, `42`},
		{"replaced", nil, func(h *host.Host) { saved(t, h, "answer", "6", true) }, `"program_changed none"`},
		{"rewritten", []policy.Hook{rewrite}, func(*host.Host) {}, `43`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, desk, store := t.TempDir(), newDesk(), &programs.Memory{}
			saver := start(t, host.Config{Programs: host.ProgramConfig{Store: store}})
			saved(t, saver, "answer", "42", false)
			cfg := desk.config([]catalog.Tool{echo("echo")}, append(tc.hooks, asks(policy.ApprovalRequest{}, "quoin:programs:answer"))...)
			cfg.Programs.Store = store
			first := start(t, kept(t, dir, cfg))
			id := wantWaiting(t, first.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: start0}), codemode.ReasonApproval)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			tc.meanwhile(saver)
			second := start(t, kept(t, dir, cfg))
			decide(t, second, (<-desk.asked).ID, policy.AllowOnce)
			wantValue(t, second.Wait(t.Context(), me, id), tc.want)
		})
	}
}

// TestAllowAlwaysIsOfTheSavedProgram and not of another one of its name.
func TestAllowAlwaysIsOfTheSavedProgram(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	cfg := desk.config(nil, asks(policy.ApprovalRequest{}, "quoin:programs:answer"))
	cfg.Programs.Store = &programs.Memory{}
	h := start(t, cfg)
	saved(t, h, "answer", "42", false)
	id := wantWaiting(t, h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `return await programs.run("answer")`}), codemode.ReasonApproval)
	decide(t, h, (<-desk.asked).ID, policy.AllowAlways)
	wantValue(t, h.Wait(t.Context(), me, id), `42`)
	wantValue(t, exec(h, `return await programs.run("answer")`), `42`)
	saved(t, h, "answer", "6", true)
	wantWaiting(t, h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `return await programs.run("answer")`}), codemode.ReasonApproval)
}

// TestModelsLeavePeopleTheirPrograms: a model's program takes the place of no person's
// program, and the programs of one session leave room for the programs of others.
func TestModelsLeavePeopleTheirPrograms(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Programs: host.ProgramConfig{Store: &programs.Memory{}, ModelsSave: true}})
	wantValue(t, exec(h, `return 42`), `42`)
	for name, audience := range map[string]programs.Audience{"mine": programs.ForSession, "ours": programs.ForAgent, "theirs": programs.ForEveryone} {
		if _, err := h.Programs().Save(t.Context(), host.Session{}, programs.Request{Name: name, For: audience}, "ada"); err == nil {
			t.Fatal("a program of another session was saved")
		}
		if _, err := h.Programs().Save(t.Context(), me, programs.Request{Name: name, For: audience}, "ada"); err != nil {
			t.Fatal(err)
		}
		for _, options := range []string{"{}", "{replace: true}"} {
			code := fmt.Sprintf(`try { return await programs.save(%q, %s) } catch (e) { return e.code }`, name, options)
			wantValue(t, exec(h, code), `"program_exists"`)
		}
	}
	got := exec(h, `for (let i = 0; ; i++) try { await programs.save("p" + i) } catch (e) { return e.code + " " + i }`)
	wantValue(t, got, `"too_many_programs 64"`)
	wantValue(t, exec(h, `return (await programs.save("p0", {replace: true})).name`), `"p0"`)
}

// TestProgramsOfPeopleComeFirst: a model that was first to take a name does not keep it
// from the program that a person saves for more than its session.
func TestProgramsOfPeopleComeFirst(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Programs: host.ProgramConfig{Store: &programs.Memory{}, ModelsSave: true}})
	wantValue(t, exec(h, `return "model"`), `"model"`)
	wantValue(t, exec(h, `return (await programs.save("report")).name`), `"report"`)
	wantValue(t, exec(h, `return await programs.run("report")`), `"model"`)
	other := host.Session{AgentID: "other", SessionID: "other"}
	wantValue(t, h.Exec(t.Context(), other, host.ExecInput{Code: `return "person"`}), `"person"`)
	if _, err := h.Programs().Save(t.Context(), other, programs.Request{Name: "report", For: programs.ForEveryone}, "ada"); err != nil {
		t.Fatal(err)
	}
	wantValue(t, exec(h, `return await programs.run("report")`), `"person"`)
	wantValue(t, exec(h, `try { return await programs.save("report", {replace: true}) } catch (e) { return e.code }`), `"program_exists"`)
}

// TestModelsOfUnknownCallersSaveNothing: what they save would be there for all callers
// that name no session.
func TestModelsOfUnknownCallersSaveNothing(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Programs: host.ProgramConfig{Store: &programs.Memory{}, ModelsSave: true}})
	unknown := host.Session{TurnID: "t"}
	wantValue(t, h.Exec(t.Context(), unknown, host.ExecInput{Code: `return 42`}), `42`)
	r := h.Exec(t.Context(), unknown, host.ExecInput{Code: `try { return await programs.save("answer") } catch (e) { return e.code }`})
	wantValue(t, r, `"not_allowed"`)
	if list, err := h.Programs().List(t.Context(), unknown); err != nil || len(list) != 0 {
		t.Errorf("%d programs, %v", len(list), err)
	}
}
