package benchmodels

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// The ways in which a model can work.
const (
	wayDirect   = "direct calls, one per turn"
	wayBatched  = "direct calls, reads and writes each in one turn"
	wayRelay    = "a server with search and call"
	wayTwoCells = "two programs: look, then act"
	wayAll      = "one program that returns every result"
	wayAnswer   = "one program that returns what the answer needs"
)

// wayLookUp is for tools among many, which the description of exec cannot all describe.
const wayLookUp = "two programs: look the tools up, then all calls"

var ways = []string{wayDirect, wayBatched, wayRelay, wayTwoCells, wayAll, wayAnswer}

// newHost starts a host that shows exec and wait to models as activation says.
func newHost(t testing.TB, activation codemode.Activation) *host.Host {
	t.Helper()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(context.Background(), host.Config{
		Guests:   host.GuestConfig{Path: guest},
		Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)),
		Settings: host.Settings{Models: map[string]codemode.Activation{"*": activation}},
	})
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

// request is a model request with tools.
func request(t testing.TB, h *host.Host, tools []catalog.Tool) *host.ModelTools {
	t.Helper()
	turn, err := h.ModelTools(t.Context(), host.Session{SessionID: "bench"}, tools, host.ModelToolsOptions{Model: "model"})
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// definitions are tools as a provider gets them.
func definitions(t testing.TB, tools []catalog.Tool) string {
	t.Helper()
	text, err := modeltools.Render(modeltools.ProviderOpenAI, tools)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// replay is one task done in all ways.
type replay struct {
	task    task
	costs   map[string]cost
	changes string // of the database
}

// replayer does the tasks of a domain.
type replayer struct {
	t          testing.TB
	host       *host.Host
	domain     domain
	operations map[string]operation
}

func newReplayer(t testing.TB, h *host.Host, d domain) *replayer {
	r := &replayer{t: t, host: h, domain: d, operations: map[string]operation{}}
	for _, o := range d.operations {
		name, _, _ := strings.Cut(o.line, "(")
		r.operations[name] = o
	}
	return r
}

// run does a task in all ways. The database must be the same after each.
func (r *replayer) run(k task) replay {
	r.t.Helper()
	out := replay{task: k, costs: map[string]cost{}}
	for way, do := range map[string]func(task, database) cost{
		wayDirect: r.direct, wayBatched: r.batched, wayRelay: r.relay, wayTwoCells: r.twoCells,
		wayAll:    func(k task, db database) cost { return r.oneCell(k, db, (*program).everything) },
		wayAnswer: func(k task, db database) cost { return r.oneCell(k, db, (*program).answer) },
	} {
		db := r.domain.db.clone()
		out.costs[way] = do(k, db)
		changes := db.changes(r.t, r.domain.db)
		if out.changes != "" && changes != out.changes {
			r.t.Fatalf("%s: %s: the database differs after %q", k.domain, k.text, way)
		}
		out.changes = changes
	}
	return out
}

// call makes a call without a program.
func (r *replayer) call(all []catalog.Tool, c call) (arguments, result string) {
	r.t.Helper()
	input, err := jsontext.Marshal(c.input)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, tool := range all {
		if tool.Name != c.tool {
			continue
		}
		value, err := tool.Invoke(r.t.Context(), catalog.Invocation{Input: input})
		if err != nil {
			r.t.Fatalf("%s(%s): %v", c.tool, input, err)
		}
		return string(input), string(value)
	}
	r.t.Fatalf("%s does not exist", c.tool)
	return "", ""
}

func (r *replayer) direct(k task, db database) cost {
	all := tools(r.t, r.domain.operations, db)
	talk := converse(r.t, definitions(r.t, all), k.text)
	for _, c := range k.calls {
		arguments, result := r.call(all, c)
		talk.turn([]string{c.tool + arguments}, []string{result})
	}
	return talk.end()
}

// batched is how a model works that makes calls in parallel.
func (r *replayer) batched(k task, db database) cost {
	all := tools(r.t, r.domain.operations, db)
	talk := converse(r.t, definitions(r.t, all), k.text)
	for _, writes := range []bool{false, true} {
		var calls, results []string
		for _, c := range k.calls {
			if r.operations[c.tool].writes == writes {
				arguments, result := r.call(all, c)
				calls, results = append(calls, c.tool+arguments), append(results, result)
			}
		}
		if len(calls) > 0 {
			talk.turn(calls, results)
		}
	}
	return talk.end()
}

// relayTools returns the tools of a server that finds tools and calls them, one by one.
func relayTools(t testing.TB) []catalog.Tool {
	t.Helper()
	var all []catalog.Tool
	for _, line := range []string{
		"search_tools(query! limit:int): Finds tools by what they do. Returns their names, descriptions and input schemas, best first.",
		"call_tool(name! input!): Calls a tool that search_tools has found, with an input as its schema says, and returns its result.",
	} {
		tool, err := parseTool(line)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tool)
	}
	return all
}

// relayResults is how many tools such a server returns of one search.
const relayResults = 5

// relay is how a model works with such a server: it searches for each kind of tool once,
// and then calls.
func (r *replayer) relay(k task, db database) cost {
	all := tools(r.t, r.domain.operations, db)
	c, err := catalog.New(all, catalog.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	talk := converse(r.t, definitions(r.t, relayTools(r.t)), k.text)
	known := map[string]bool{}
	for _, one := range k.calls {
		if !known[one.tool] {
			query := strings.ReplaceAll(one.tool, "_", " ")
			talk.turn([]string{`search_tools{"query":"` + query + `"}`}, []string{found(r.t, c, query, known)})
		}
		arguments, result := r.call(all, one)
		talk.turn([]string{`call_tool{"name":"` + one.tool + `","input":` + arguments + `}`}, []string{result})
	}
	return talk.end()
}

// found is the answer of such a server to a search.
func found(t testing.TB, c *catalog.Catalog, query string, known map[string]bool) string {
	t.Helper()
	type hit struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	var hits []hit
	for _, e := range c.Search(query, relayResults) {
		tool, _ := c.ByID(e.ID)
		hits = append(hits, hit{tool.Name, tool.Description, tool.Parameters})
		known[e.Name] = true
	}
	text, err := jsontext.Marshal(hits)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// exec runs a program through the tool that the model is shown, and returns the call and
// the text that the model reads.
func (r *replayer) exec(turn *host.ModelTools, code string) (call, result string) {
	r.t.Helper()
	arguments, err := jsontext.Marshal(map[string]string{"code": code})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, tool := range turn.Visible {
		if tool.Name != modeltools.Exec {
			continue
		}
		answer, err := tool.Invoke(r.t.Context(), catalog.Invocation{Input: arguments})
		if err != nil {
			r.t.Fatal(err)
		}
		if !strings.Contains(string(answer), `"completed"`) {
			r.t.Fatalf("%s\n%s", code, answer)
		}
		return modeltools.Exec + string(arguments), string(answer)
	}
	r.t.Fatal("the model is not shown exec")
	return "", ""
}

func (r *replayer) oneCell(k task, db database, code func(*program) string) cost {
	turn := request(r.t, r.host, tools(r.t, r.domain.operations, db))
	talk := converse(r.t, definitions(r.t, turn.Visible), k.text)
	call, result := r.exec(turn, code(newProgram(r.t, k.calls, r.operations)))
	talk.turn([]string{call}, []string{result})
	return talk.end()
}

// twoCells is how a model works that does not know what to write before it has looked:
// it reads everything, and then acts.
func (r *replayer) twoCells(k task, db database) cost {
	turn := request(r.t, r.host, tools(r.t, r.domain.operations, db))
	talk := converse(r.t, definitions(r.t, turn.Visible), k.text)
	var reads, writes []call
	for _, c := range k.calls {
		if r.operations[c.tool].writes {
			writes = append(writes, c)
		} else {
			reads = append(reads, c)
		}
	}
	call, result := r.exec(turn, newProgram(r.t, reads, r.operations).everything())
	talk.turn([]string{call}, []string{result})
	if len(writes) > 0 {
		call, result = r.exec(turn, newProgram(r.t, writes, r.operations).answer())
		talk.turn([]string{call}, []string{result})
	}
	return talk.end()
}

// lookUp is how a model works when its tools are among many: a program searches for what the
// task needs, and the next makes all calls.
func (r *replayer) lookUp(k task, db database, others []catalog.Tool) cost {
	turn := request(r.t, r.host, append(tools(r.t, r.domain.operations, db), others...))
	talk := converse(r.t, definitions(r.t, turn.Visible), k.text)
	var queries []any
	for _, c := range k.calls {
		if query := strings.ReplaceAll(c.tool, "_", " "); !slices.Contains(queries, any(query)) {
			queries = append(queries, query)
		}
	}
	call, result := r.exec(turn, "const found = await Promise.all("+literal(r.t, queries)+".map((q) => tools.search(q, {limit: 2})));\n"+
		"return Promise.all(found.flat().map(async (t) => [t.name, (await tools.describe(t.id)).parameters]));")
	talk.turn([]string{call}, []string{result})
	call, result = r.exec(turn, newProgram(r.t, k.calls, r.operations).answer())
	talk.turn([]string{call}, []string{result})
	return talk.end()
}
