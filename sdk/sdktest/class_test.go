package sdktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

type jobInput struct {
	Action string `json:"action"`
	Job    string `json:"job,omitempty"`
	Line   string `json:"line,omitempty"`
	Wait   int    `json:"wait,omitempty"`
}

type jobResult struct {
	Job  string   `json:"job"`
	Said jobInput `json:"said"`
}

type jobList struct {
	Jobs []jobResult `json:"jobs"`
	More bool        `json:"more,omitempty"`
}

// jobs returns a plugin with results that have methods. Its tools return what they were given.
func jobs() *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: "jobs", Version: "1.0.0", Description: "Runs jobs."}, nil)
	id := func(in jobInput) string {
		if in.Job == "" {
			return "job-1"
		}
		return in.Job
	}
	one := sdk.AddTool(p, sdk.Tool{Name: "job", Description: "Does what it is told to a job."}, func(_ context.Context, _ *sdk.Call, in jobInput) (jobResult, error) {
		return jobResult{id(in), in}, nil
	})
	list := sdk.AddTool(p, sdk.Tool{Name: "jobs", Description: "Lists jobs."}, func(context.Context, *sdk.Call, struct{}) (jobList, error) {
		return jobList{Jobs: []jobResult{{Job: "a"}, {Job: "b"}}}, nil
	})
	shout := func(_ context.Context, _ sdk.RunContext, args []json.RawMessage) (any, error) {
		return map[string]any{"action": "shout", "job": args[0], "line": strings.ToUpper(string(args[1][1 : len(args[1])-1]))}, nil
	}
	job := &sdk.Class{Name: "Job", Key: "job"}
	job.Methods = map[string]*sdk.VerbRef{
		"poll":  sdk.Verb(one).Fixed("action", "poll").Options("wait").Returns(job),
		"write": sdk.Verb(one).Fixed("action", "write").Positional("job", "line"),
		"shout": sdk.Verb(one).Map(shout),
	}
	scope := sdk.Scope{
		"run":  sdk.Verb(one).Fixed("action", "run").Positional("line").Options().Returns(job),
		"list": sdk.Verb(list).ReturnsIn("jobs", job),
		"sh":   sdk.Verb(one).Template(quoted).Returns(job),
	}
	p.AddNamespace(sdk.Namespace{ID: "jobs", Global: "Jobs", Description: "Jobs.", Scope: scope})
	return p
}

// quoted makes a command of a template: its values are quoted.
func quoted(_ context.Context, _ sdk.RunContext, t sdk.Template) (any, error) {
	var line strings.Builder
	for i, text := range t.Raw {
		line.WriteString(text)
		if i == len(t.Values) {
			break
		}
		var value any
		if err := json.Unmarshal(t.Values[i], &value); err != nil {
			return nil, err
		}
		fmt.Fprintf(&line, "'%s'", strings.ReplaceAll(fmt.Sprint(value), "'", `'\''`))
	}
	return jobInput{Action: "sh", Line: line.String()}, nil
}

func TestMethods(t *testing.T) {
	h := sdktest.Start(t, jobs(), nil)
	for code, want := range map[string]string{
		"return await Jobs.run('make')":                                                                                                             `{"job":"job-1","said":{"action":"run","line":"make"}}`,
		"return await Jobs.run('make', {job: 'j', wait: 5})":                                                                                        `{"job":"j","said":{"action":"run","job":"j","line":"make","wait":5}}`,
		"const j = await Jobs.run('x'); return (await j.poll({wait: 3})).said":                                                                      `{"action":"poll","job":"job-1","wait":3}`,
		"const j = await Jobs.run('x'); return (await (await j.poll()).poll()).said":                                                                `{"action":"poll","job":"job-1"}`,
		"const j = await Jobs.run('x'); try { await j.poll({line: 'y'}) } catch (e) { return e.message }":                                           `"Jobs.Job#poll: \"line\" is no option; the options are wait"`,
		"const j = await Jobs.run('x'); return (await j.write('y')).said":                                                                           `{"action":"write","job":"job-1","line":"y"}`,
		"const j = await Jobs.run('x'); return (await j.shout('y')).said":                                                                           `{"action":"shout","job":"job-1","line":"Y"}`,
		"const l = await Jobs.list(); return (await l.jobs[1].write('z')).said":                                                                     `{"action":"write","job":"b","line":"z"}`,
		"const j = await Jobs.run('x'); return [Object.keys(j), typeof j.poll, typeof ({...j}).poll, JSON.stringify(j) === JSON.stringify({...j})]": `[["job","said"],"function","undefined",true]`,
		"return (await Jobs.sh`grep ${'a b'} \\d *.md ${3}`).said.line":                                                                             `"grep 'a b' \\d *.md '3'"`,
		"return (await (await Jobs.sh`ls`).poll()).said.job":                                                                                        `"job-1"`,
		"try { await Jobs.sh('ls') } catch (e) { return String(e) }":                                                                                `"TypeError: sh stands in front of a template literal: write sh` + "`…`" + `, without parentheses"`,
		"const { poll } = await Jobs.run('x'); try { await poll() } catch (e) { return String(e) }":                                                 `"TypeError: poll is a method of Job: call it on a result that has job"`,
	} {
		if r := h.Cell(code); string(r.Value) != want {
			t.Errorf("%s\n got %s %v\nwant %s", code, r.Value, r.Error, want)
		}
	}
}

func TestTemplateArguments(t *testing.T) {
	h := sdktest.Start(t, jobs(), nil)
	for _, args := range [][]any{nil, {"ls"}, {map[string]any{"strings": []string{"a"}}, 1}, {map[string]any{"strings": []string{"a", "b"}, "raw": []string{"a"}}, 1}, {7}} {
		_, err := h.Verb("jobs", []string{"sh"}, args...)
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != "not_a_template" || !strings.Contains(e.Message, "in front of a template literal") {
			t.Errorf("%v: %v", args, err)
		}
	}
	got, err := h.Verb("jobs", []string{"sh"}, map[string]any{"strings": []string{"a ", ""}}, "v")
	if err != nil || string(got) != `{"job":"job-1","said":{"action":"sh","line":"a 'v'"}}` {
		t.Errorf("%s, %v", got, err)
	}
	got, err = h.Verb("jobs", []string{"Job", "prototype", "write"}, "j", "text")
	if err != nil || string(got) != `{"job":"j","said":{"action":"write","job":"j","line":"text"}}` {
		t.Errorf("%s, %v", got, err)
	}
}
