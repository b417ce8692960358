package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/namespaces"
)

// jobs returns a configuration with a namespace of functions that return objects with methods.
// Its tools return their input with the field job.
func jobs() host.Config {
	tool := owned("job", "jobs")
	tool.Parameters = json.RawMessage(`{"type":"object","properties":{"job":{"type":"string"},"line":{"type":"string"},"wait":{"type":"integer"},"action":{"type":"string"}},"additionalProperties":false}`)
	tool.Invoke = func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		if strings.Contains(string(c.Input), `"job"`) {
			return c.Input, nil
		}
		return append(append([]byte(nil), c.Input[:len(c.Input)-1]...), `,"job":"j1"}`...), nil
	}
	positional := func(action string, options bool, names ...string) namespaces.Call {
		return namespaces.Call{Tool: "job", Mapping: namespaces.Mapping{Kind: namespaces.MapPositional, Positional: names, Options: options,
			Fixed: map[string]json.RawMessage{"action": json.RawMessage(`"` + action + `"`)}}}
	}
	class := &namespaces.Class{Name: "Job", Key: "job"}
	poll := positional("poll", true, "job")
	poll.Returns = class
	class.Methods = map[string]namespaces.Call{"poll": poll, "write": positional("write", false, "job", "line"), "line": positional("line", false, "job")}
	run := positional("run", true, "line")
	run.Returns = class
	return host.Config{Tools: []catalog.Tool{tool}, Namespaces: []namespaces.Registration{{
		PluginID: "jobs", ID: "jobs", GlobalName: "Jobs", Description: "Jobs.", RequiredTools: []string{"job"},
		CreateScope: func(context.Context, namespaces.RunContext) (any, error) {
			return map[string]any{"run": run, "other": namespaces.Call{Tool: "job"}}, nil
		},
	}}}
}

// TestMethodsOfResults: a result has the methods of its class, and is to everything else
// the plain object that it was.
func TestMethodsOfResults(t *testing.T) {
	t.Parallel()
	h := start(t, jobs())
	for code, want := range map[string]string{
		`return await j.poll({wait: 1})`:                                       `{"action":"poll","job":"j1","wait":1}`,
		`return await j.poll({wait: 1, signal: new AbortController().signal})`: `{"action":"poll","job":"j1","wait":1}`,
		`return await j.poll({signal: new AbortController().signal})`:          `{"action":"poll","job":"j1"}`,
		`return await (await j.poll()).write("a")`:                             `{"action":"write","job":"j1","line":"a"}`,
		`return j`: `{"action":"run","line":"x","job":"j1"}`,
		`return [j.line, typeof j.poll, j.poll.name]`:                                                                                      `["x","function","poll"]`,
		`return [Object.keys(j), Object.getPrototypeOf(j) === Object.prototype]`:                                                           `[["action","line","job"],true]`,
		`return [typeof structuredClone(j).poll, typeof {...j}.poll, "poll" in j]`:                                                         `["undefined","undefined",true]`,
		`const o = Object.getOwnPropertyDescriptor(j, "poll"); return [o.writable, o.enumerable, o.configurable, Object.isFrozen(j.poll)]`: `[false,false,false,true]`,
		`j.note = 1; delete j.action; return j`:                                                                                            `{"line":"x","job":"j1","note":1}`,
		`results.save("j", j); return typeof results.load("j").poll`:                                                                       `"undefined"`,
		`return await j.poll.call({job: "j2"})`:                                                                                            `{"action":"poll","job":"j2"}`,
		`try { await j.poll.call(7) } catch (e) { return e.message }`:                                                                      `"poll is a method of Job: call it on a result that has job"`,
		`try { new j.poll() } catch (e) { return e.name }`:                                                                                 `"TypeError"`,
		`return typeof (await Jobs.other({job: "k"})).poll`:                                                                                `"undefined"`,
		`try { await j.poll({job: "j2"}) } catch (e) { return e.message }`:                                                                 `"Jobs.Job#poll: \"job\" is no option, because an argument before the options gives it"`,
		`try { await j.poll("x") } catch (e) { return e.message }`:                                                                         `"Jobs.Job#poll: the argument options must be an object"`,
		`try { await j.write(1, 2, 3) } catch (e) { return e.message.slice(0, 63) }`:                                                       `"Jobs.Job#write: takes at most 1 argument (line) but was given 3"`,
		`try { await j.write(1) } catch (e) { return e.message }`:                                                                          `"Invalid input for tool quoin:jobs:job: line: is number but must be string. Expected: { job?: string, line?: string, wait?: integer, action?: string }. Call it as write(line?)."`,
		`try { await Jobs.run(1, {}) } catch (e) { return e.message.slice(-37) }`:                                                          `"Call it as Jobs.run(line?, options?)."`,
		`try { j.pol() } catch (e) { return e.message }`:                                                                                   `"not a function: Did you mean poll? Results of Jobs.run have the methods line, poll, write."`,
		`try { ({...j}).write("a") } catch (e) { return e.message }`:                                                                       `"not a function: write is a method of results of Jobs.run: await the call, and use what it returns itself. Copies of it, and results without job, do not have the method."`,
		`try { await Jobs.run("y").poll() } catch (e) { return e.message.slice(0, 62) }`:                                                   `"not a function: poll is a method of results of Jobs.run: await"`,
		`try { j.nothingOfThatName() } catch (e) { return e.message }`:                                                                     `"not a function"`,
	} {
		if r := exec(h, `const j = await Jobs.run("x"); `+code); r.Status != host.StatusCompleted || string(r.Value) != want {
			t.Errorf("%s\n got %s %s\nwant %s", code, r.Value, r.Error, want)
		}
	}
}

// TestMethodsInALaterProcess: what a result can do is in the image of a run, and the host
// of the later process knows the class from what is stored with the run.
func TestMethodsInALaterProcess(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	open := func() *host.Host {
		store := openState(t, dir)
		cfg := jobs()
		cfg.Store = store
		return start(t, cfg)
	}
	first := open()
	id := wantWaiting(t, exec(first, `const j = await Jobs.run("x"); await yield_control(); return await j.poll({wait: 2})`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	wantValue(t, open().Wait(t.Context(), me, id), `{"action":"poll","job":"j1","wait":2}`)
}
