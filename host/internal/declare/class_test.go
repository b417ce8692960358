package declare_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/declare"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/typescript"
	"github.com/quoinhq/quoin/namespaces"
)

// jobTools run and control jobs. What they return differs in what is known of it.
var jobTools = func() []catalog.Tool {
	input := json.RawMessage(`{"type":"object","required":["action"],"properties":{"action":{"type":"string"},"job":{"type":"string"},
		"line":{"type":"string"},"wait":{"type":"integer"}},"additionalProperties":false}`)
	var out []catalog.Tool
	for name, output := range map[string]string{
		"job":   `{"type":"object","required":["job"],"properties":{"job":{"type":"string"},"code":{"type":"integer"}},"additionalProperties":false}`,
		"maybe": `{"type":"object","properties":{"job":{"type":"string"}},"additionalProperties":false}`,
		"list":  `{"type":["array","null"],"items":{"type":"object","required":["job"],"properties":{"job":{"type":"string"}}}}`,
		"union": `{"anyOf":[{"type":"object","required":["job"],"properties":{"job":{"type":"string"}}},{"type":"null"}]}`,
		"page":  `{"type":"object","required":["jobs","next"],"properties":{"jobs":{"type":"array","items":{"type":"object","required":["job"],"properties":{"job":{"type":"string"}}}},"next":{"type":"integer"}},"additionalProperties":false}`,
		"any":   ``,
		"bool":  `true`,
	} {
		out = append(out, catalog.Tool{Name: name, Description: "Runs " + name + ".", Parameters: input, Output: json.RawMessage(output)})
	}
	return out
}()

// jobScope returns a scope with results that have methods.
func jobScope(t testing.TB) *namespaces.Scope {
	t.Helper()
	job := &namespaces.Class{Name: "Job", Key: "job"}
	method := func(tool, action string, options bool, names ...string) namespaces.Call {
		m := positional(append([]string{"job"}, names...)...)
		m.Fixed, m.Options = fixed{"action": json.RawMessage(`"` + action + `"`)}, options
		return namespaces.Call{Tool: tool, Mapping: m}
	}
	hold := method("job", "hold", true)
	hold.Mapping.OptionNames = []string{"wait"}
	poll := method("job", "poll", true)
	poll.Returns = job
	job.Methods = map[string]namespaces.Call{"poll": poll, "stop": method("job", "stop", true), "hold": hold, "write": method("job", "write", false, "line"),
		"map": verb("job", namespaces.Mapping{Kind: namespaces.MapFunction, Mapper: "m"})}
	run := method("job", "run", true)
	run.Mapping.Positional = []string{"line"}
	run.Returns = job
	content := map[string]any{"run": run, "sh": namespaces.Call{Tool: "job", Mapping: namespaces.Mapping{Kind: namespaces.MapFunction, Mapper: "sh"}, Template: true, Returns: job}}
	for _, tool := range []string{"maybe", "list", "union", "any", "bool"} {
		content[tool] = namespaces.Call{Tool: tool, Returns: job, Mapping: namespaces.Mapping{Fixed: fixed{"action": json.RawMessage(`"x"`)}}}
	}
	content["page"] = namespaces.Call{Tool: "page", Returns: job, ReturnsIn: "jobs"}
	return scopeOf(t, content)
}

func TestMethods(t *testing.T) {
	text := string(declare.Namespace(registration("Jobs"), jobScope(t), finder(jobTools...)))
	_, methods, _ := strings.Cut(text, "Namespaces[\"Jobs\"];\n")
	want := `
/** What results with "job" can do; copies of them cannot. */
interface Namespaces_Jobs_Job {
  /** Runs job. */
  hold(options?: {
    /** Integer. */
    wait?: number;
  } & { signal?: AbortSignal }): Promise<Namespaces_Jobs_job_Output>;
  map(...args: unknown[]): Promise<Namespaces_Jobs_job_Output>;
  poll(options?: Namespaces_Jobs_job_Options & { signal?: AbortSignal }): Promise<Namespaces_Jobs_job_Output & Namespaces_Jobs_Job>;
  stop(options?: Namespaces_Jobs_job_Options & { signal?: AbortSignal }): Promise<Namespaces_Jobs_job_Output>;
  write(line?: string, options?: { signal: AbortSignal }): Promise<Namespaces_Jobs_job_Output>;
}

type Namespaces_Jobs_job_Output = {
  job: string;
  /** Integer. */
  code?: number;
};

type Namespaces_Jobs_job_Options = {
  line?: string;
  /** Integer. */
  wait?: number;
};
`
	if diff := cmp.Diff(want, methods); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	files := map[string]string{"guest.d.ts": hosttest.GuestDeclarations(t), "namespaces/Jobs.d.ts": text}
	typescript.Check(t, merge(files, map[string]string{"use.ts": "const { signal } = new AbortController();\n" +
		"const job = await Jobs.run('make', { wait: 1, signal }); const id: string = job.job; const code: number | undefined = job.code;\n" +
		"const again = await (await job.poll({ wait: 1 })).poll(); await again.write('y', { signal }); await job.map(1, 2);\n" +
		"const page = await Jobs.page({ action: 'x' }); const next: number = page.next; for (const j of page.jobs) await j.write(j.job);\n" +
		"const word = 'a'; await (await Jobs.sh`grep ${word} ${3} *.md`).poll();\n" +
		"for (const j of (await Jobs.list()) ?? []) await j.poll();\n" +
		"await (await Jobs.maybe()).poll?.(); await (await Jobs.union())?.poll?.(); const any = await Jobs.any(); any.what; await any.poll?.(); (await Jobs.bool()).what;\n" +
		"export { id, code };"}))
	for _, bad := range []string{
		"(await Jobs.run('x')).pol()", "(await Jobs.run('x')).poll('x')", "(await Jobs.run('x')).hold({ line: 'x' })", "(await Jobs.run('x')).poll({ action: 'kill' })", "(await Jobs.run('x')).poll({ job: 'b' })",
		"Jobs.run(1)", "Jobs.run('x', { line: 'y' })", "Jobs.sh('ls')", "(await Jobs.maybe()).poll()", "(await Jobs.union()).poll()", "(await Jobs.list()).poll()", "(await Jobs.page({ action: 'x' })).poll()",
	} {
		if said := typescript.Complaints(t, merge(files, map[string]string{"use.ts": bad + "; export {};"})); !strings.Contains(said, "use.ts") {
			t.Errorf("%s is accepted", bad)
		}
	}
}
