package prelude_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine/weburl"
	"github.com/quoinhq/quoin/guestrt/internal/prelude"
	"github.com/quoinhq/quoin/guestrt/internal/prelude/gen/bundle"
	"github.com/quoinhq/quoin/internal/wire"
	"modernc.org/quickjs"
)

// turn is what a guest reports, whichever engine ran it.
type turn struct {
	Status   wire.Status
	Value    string
	Err      *failure
	Output   []string // ["text", ...] or ["json", ...]
	Requests []wire.Request
	Pending  int
	Timer    int64
}

// failure is the end of a program. Kind is known only where the drained
// document is read directly.
type failure struct{ Name, Message, Stack, Kind string }

// machine runs one guest.
type machine interface {
	load(source, config string) turn
	turn(in []wire.Settlement) turn
	wait(millis int64) // lets time pass, if it is in the machine's hand
}

// hostFiles are the virtual files of every test guest.
var hostFiles = map[string]string{
	"catalog.json": `[{"id":"quoin:core:echo","name":"echo","description":"Echoes","source":"quoin","tags":["a"]},` +
		`{"id":"quoin:core:fail","name":"fail","description":"Fails","source":"quoin"}]`,
	"tools.json":     `{"echo":"quoin:core:echo","web_search":"quoin:web:web-search","__proto__":"quoin:odd:__proto__"}`,
	"api/index.json": `[{"path":"mcp/index.d.ts","description":"Servers","bytes":3},{"path":"tools/echo.d.ts","description":"Echoes","bytes":5}]`,
	"api/guest.d.ts": "declare const a: 1", "api/guest.d.ts.json": `{"path":"guest.d.ts","description":"The globals of every program","bytes":18}`,
	"api/tools/echo.d.ts": "é 1\n", "api/tools/echo.d.ts.json": `{"path":"tools/echo.d.ts","description":"Echoes","bytes":5}`,
	"namespaces/issues.json": `{"kind":"object","entries":{` +
		`"list":{"kind":"call"},"version":{"kind":"value","value":"1.2"},` +
		`"labels":{"kind":"array","items":[{"kind":"value","value":"bug"},{"kind":"object","entries":{"run":{"kind":"call"}}}]},` +
		`"admin":{"kind":"object","entries":{"close":{"kind":"call"},"__proto__":{"kind":"value","value":1}}},` +
		`"config":{"kind":"value","value":{"deep":{"list":[1,{"x":2}]}}},"nothing":{"kind":"value","value":null}}}`,
	"namespaces/ping.json": `{"kind":"call"}`,
	"namespaces/jobs.json": `{"kind":"object","entries":{"run":{"kind":"call","returns":"Job"},"sh":{"kind":"call","template":true,"returns":"Job"},
		"list":{"kind":"call","returns":"Arg","returnsIn":"args"}},
		"classes":{"Job":{"key":"ns","methods":{"poll":{"kind":"call","returns":"Job"},"kill":{"kind":"call"},"path":{"kind":"call"}}},
			"Arg":{"key":"id","methods":{"poll":{"kind":"call"}}}}}`,
	"mcp.json": `{"servers":[{"identifier":"gitHub","serverName":"git-hub"},{"identifier":"idle","serverName":"idle"},{"identifier":"large","serverName":"large"}]}`,
	"mcp/gitHub.json": `{"tools":[{"identifier":"createIssue","name":"create-issue"},{"identifier":"then2","name":"then"},` +
		`{"identifier":"resources.list","name":"resources_list","operation":"resources_list"},` +
		`{"identifier":"prompts.get","name":"prompts_get","operation":"prompts_get"}]}`,
	"mcp/large.json":        `{"more":true,"tools":[{"identifier":"resources.list","name":"resources_list","operation":"resources_list"}]}`,
	"mcp/large/tools":       `{"tools":[{"identifier":"doIt","name":"do-it"},{"identifier":"then2","name":"then"},{"identifier":"other","name":"other"}]}`,
	"mcp/large/tools/doIt":  `{"identifier":"doIt","name":"do-it"}`,
	"mcp/large/tools/do-it": `{"identifier":"doIt","name":"do-it"}`,
	"mcp/large/tools/then":  `{"identifier":"then2","name":"then"}`,
	"mcp/large/tools/other": `{"identifier":"other","name":"other"}`,
	"mcp/gitHub/api.json": `{"tools":[{"method":"createIssue","path":"createIssue","mcpTool":"create-issue","description":"Creates"},` +
		`{"method":"list","path":"resources.list","mcpTool":"resources_list","operation":"resources_list","description":"Lists"}]}`,
	"mcp/gitHub/createIssue.d.ts": "declare one",
	"mcp/gitHub/createIssue.json": `{"input":{"type":"object"}}`,
	"api/mcp/gitHub.d.ts":         "declare all",
	"namespaces/broken.json":      `{"error":{"message":"the plugin is gone","code":"plugin_unavailable"}}`,
}

const hostNamespaces = `[["Issues","issues"],["Ping","ping"],["Jobs","jobs"],["Broken","broken"],["Missing","missing"]]`

// driver makes native in JavaScript and keeps entry out of the guest's reach.
// Its clock stands still between two turns.
const driver = `((factory) => {
	const files = JSON.parse(%q), extras = JSON.parse(%q), rejections = { __proto__: null, length: 0 };
	const advance = Date.advance; delete Date.advance;
	const random = hostRandom, url = hostURL; delete globalThis.hostRandom; delete globalThis.hostURL;
	const fill = (buffer, offset, length) => { new Uint8Array(buffer, offset, length).set(JSON.parse(random(length))); };
	const parse = (href, base, part, value) => url(JSON.stringify([href, base ?? null, part ?? null, value ?? null])) || undefined;
	const own = Object.hasOwn, evaluate = eval, reads = { __proto__: null };
	const file = (path) => {
		reads[path] = (reads[path] || 0) + 1;
		return own(files, path) ? files[path] : undefined;
	};
	const entry = factory({
		file, error: (message, kind) => new kind(message), extra: (name) => evaluate(extras[name]),
		random: fill, utf8: () => undefined, url: parse, rejections,
	});
	return (op, a, b, c) => {
		switch (op) {
		case "start": return entry.start(a, evaluate(b));
		case "settle": return entry.settle(a, b, c);
		case "fire": return entry.fire();
		case "drain": return entry.drain();
		case "reads": return reads[a] || 0;
		case "advance": advance(a); return;
		case "held": return rejections[0] !== undefined || rejections.length > 0;
		case "reject": {
			const n = rejections.length;
			rejections[n] = a; rejections[n + 1] = evaluate(b); rejections[n + 2] = evaluate(c);
			rejections.length = n + 3;
		}
		}
	};
})(%s)`

// clock replaces Date.now before the prelude captures it.
const clock = `{ let time = 1e12; Date.now = () => time; Date.advance = (millis) => { time += millis } }`

// plain is a guest in a plain QuickJS VM, without a rejection tracker.
type plain struct {
	t     *testing.T
	vm    *quickjs.VM
	drive quickjs.Value
}

func newPlain(t *testing.T) *plain {
	t.Helper()
	vm, err := quickjs.NewVM()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vm.Eval(clock, quickjs.EvalGlobal); err != nil {
		t.Fatal(err)
	}
	files, err := json.Marshal(hostFiles)
	if err != nil {
		t.Fatal(err)
	}
	register(t, vm)
	drive, err := vm.EvalValue(fmt.Sprintf(driver, files, extraScripts(t), prelude.JS[:len(prelude.JS)-2]), quickjs.EvalGlobal)
	if err != nil {
		t.Fatalf("evaluating the prelude: %v", err)
	}
	t.Cleanup(func() {
		drive.Free()
		if err := vm.Close(); err != nil {
			t.Errorf("closing the VM: %v", err)
		}
	})
	return &plain{t, vm, drive}
}

// extraScripts is the prelude's extras by name, as JSON.
func extraScripts(t *testing.T) []byte {
	t.Helper()
	names, err := bundle.Extras("src")
	if err != nil {
		t.Fatal(err)
	}
	scripts := map[string]string{}
	for _, name := range names {
		script, ok := prelude.Extra(name)
		if !ok {
			t.Fatalf("there is no extra %s; run go generate ./guestrt/internal/prelude", name)
		}
		scripts[name] = script
	}
	text, err := json.Marshal(scripts)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// register gives the driver what the engine that ships has built in.
func register(t *testing.T, vm *quickjs.VM) {
	t.Helper()
	random := func(n int) string {
		b := make([]byte, n)
		if _, err := rand.Read(b); err != nil {
			return ""
		}
		return strings.Join(strings.Fields(fmt.Sprint(b)), ",")
	}
	parse := func(request string) string {
		var in [4]*string
		if err := json.Unmarshal([]byte(request), &in); err != nil {
			return ""
		}
		parts, ok := weburl.Parts{}, false
		if in[2] != nil {
			parts, ok = weburl.Change(*in[0], *in[2], *in[3])
		} else {
			parts, ok = weburl.Parse(*in[0], in[1])
		}
		text, err := json.Marshal(parts)
		if err != nil || !ok {
			return ""
		}
		return string(text)
	}
	if err := errors.Join(vm.RegisterFunc("hostRandom", random, false), vm.RegisterFunc("hostURL", parse, false)); err != nil {
		t.Fatal(err)
	}
}

func (g *plain) do(args ...any) any {
	g.t.Helper()
	r, err := g.drive.Call(quickjs.UndefinedValue, args...)
	if err != nil {
		g.t.Fatalf("%v: %v", args[0], err)
	}
	return r
}

func (g *plain) jobs() {
	g.t.Helper()
	if _, err := g.vm.ExecutePendingJobs(); err != nil {
		g.t.Fatalf("a job threw: %v", err)
	}
}

func (g *plain) load(source, config string) turn {
	g.t.Helper()
	g.do("start", config, source)
	return g.settleDown()
}

func (g *plain) turn(in []wire.Settlement) turn {
	g.t.Helper()
	for _, s := range in {
		if g.do("settle", int(s.ID), s.OK, string(s.JSON)) != true {
			g.t.Fatalf("call %d is unknown to the guest", s.ID)
		}
	}
	return g.settleDown()
}

func (g *plain) wait(millis int64) { g.do("advance", int(millis)) }

func (g *plain) settleDown() turn {
	g.t.Helper()
	g.jobs()
	for fired := 0; g.do("fire") == true; fired++ {
		if fired == 10_000 {
			g.t.Fatal("timers fire without end in one turn")
		}
		g.jobs()
	}
	return g.drain()
}

func (g *plain) drain() turn {
	g.t.Helper()
	var doc struct {
		S int                 `json:"s"`
		V json.RawMessage     `json:"v"`
		E *failure            `json:"e"`
		O []json.RawMessage   `json:"o"`
		R [][]json.RawMessage `json:"r"`
		P int                 `json:"p"`
		T int64               `json:"t"`
	}
	text := g.do("drain").(string)
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		g.t.Fatalf("drain: %v in %s", err, text)
	}
	r := turn{Status: wire.Status(doc.S), Value: string(doc.V), Err: doc.E, Pending: doc.P, Timer: doc.T}
	for _, o := range doc.O {
		r.Output = append(r.Output, string(o))
	}
	for _, q := range doc.R {
		r.Requests = append(r.Requests, g.request(q))
	}
	return r
}

func (g *plain) request(q []json.RawMessage) (r wire.Request) {
	g.t.Helper()
	into := func(i int, v any) {
		if err := json.Unmarshal(q[i], v); err != nil {
			g.t.Fatalf("request %s: %v", q, err)
		}
	}
	into(0, &r.ID)
	into(1, &r.Method)
	if string(q[2]) != "null" {
		into(2, &r.Target)
	}
	switch r.Method {
	case wire.MethodCall, wire.MethodSearch, wire.MethodCancel:
		r.Args = q[3]
	case wire.MethodNamespace, wire.MethodMCP:
		into(3, &r.Path)
		r.Args = q[4]
	}
	return r
}
