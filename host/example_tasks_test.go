package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/namespaces"
)

var ctx = context.Background()

// embed makes a host for an example. Your program calls host.New and handles its error.
func embed(cfg host.Config) *host.Host {
	guest, err := hosttest.Guest() // your program has it next to its executable
	if err != nil {
		log.Fatal(err)
	}
	cfg.Guests.Path = guest
	h, err := host.New(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	return h
}

// weather is a tool with typed input.
var weather = catalog.Tool{
	Name: "weather", Description: "Returns the temperature of a city.", ReadOnly: true, Idempotent: true,
	Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
	Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		var in struct{ City string }
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return nil, err
		}
		return json.Marshal(map[string]any{"city": in.City, "celsius": 11 + len(in.City)})
	},
}

// Run a program of the model's. A program that fails is a Result, too.
func ExampleHost_Exec() {
	h := embed(host.Config{})
	defer h.Close()
	session := host.Session{SessionID: "42"}
	r := h.Exec(ctx, session, host.ExecInput{Code: `const squares: number[] = [1, 2, 3].map((n) => n * n); return squares`, Language: "typescript"})
	fmt.Println(r.Status, string(r.Value))
	r = h.Exec(ctx, session, host.ExecInput{Code: `throw new Error("out of paper")`})
	fmt.Println(r.Status, r.Reason)
	// Output:
	// completed [1,4,9]
	// failed guest_exception
}

// A program may pause with yield_control. Wait resumes it.
func ExampleHost_Wait() {
	h := embed(host.Config{})
	defer h.Close()
	session := host.Session{SessionID: "42"}
	r := h.Exec(ctx, session, host.ExecInput{Code: `text("half"); await yield_control(); return "whole"`})
	fmt.Println(r.Status, r.Reason, r.Output[0].Text())
	r = h.Wait(ctx, session, r.RunID)
	fmt.Println(r.Status, string(r.Value))
	// Output:
	// waiting yield half
	// completed "whole"
}

// Only the session that started a run can resume it.
func ExampleHost_Wait_otherSession() {
	h := embed(host.Config{})
	defer h.Close()
	r := h.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{Code: `await yield_control()`})
	r = h.Wait(ctx, host.Session{SessionID: "43"}, r.RunID)
	fmt.Println(r.Status, r.Reason)
	// Output: failed wrong_session
}

// Abort ends a run that is suspended or running.
func ExampleHost_Abort() {
	h := embed(host.Config{})
	defer h.Close()
	session := host.Session{SessionID: "42"}
	r := h.Exec(ctx, session, host.ExecInput{Code: `await yield_control(); return 1`})
	aborted := h.Abort(ctx, session, r.RunID)
	fmt.Println(aborted.Status, aborted.Code)
	runs, err := h.Runs().List(ctx, session)
	fmt.Println(len(runs), err)
	// Output:
	// failed aborted
	// 0 <nil>
}

// Tools of your own check their input against the schema before Invoke is called.
func ExampleConfig_tools() {
	h := embed(host.Config{Tools: []catalog.Tool{weather}})
	defer h.Close()
	r := h.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{
		Code: `const all = await Promise.all(["Oslo", "Lisbon"].map((city) => tools.weather({city}))); return all.map((w) => w.celsius)`,
	})
	fmt.Println(string(r.Value))
	r = h.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{Code: `return await tools.weather({town: "Oslo"})`})
	fmt.Println(r.Status, r.Phase, r.Dispatched)
	// Output:
	// [15,17]
	// failed bridge false
}

// A namespace gives tools a global of their own, with methods and data.
func ExampleConfig_namespaces() {
	sky := namespaces.Registration{
		PluginID: catalog.OwnerCore, ID: "sky", GlobalName: "Sky", Description: "Weather.", RequiredTools: []string{"weather"},
		CreateScope: func(context.Context, namespaces.RunContext) (any, error) {
			return map[string]any{
				"unit": "celsius",
				"at":   namespaces.Call{Tool: "weather", Mapping: namespaces.Mapping{Kind: namespaces.MapPositional, Positional: []string{"city"}}},
			}, nil
		},
	}
	h := embed(host.Config{Tools: []catalog.Tool{weather}, Namespaces: []namespaces.Registration{sky}})
	defer h.Close()
	r := h.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{Code: "return `${(await Sky.at(\"Rome\")).celsius} ${Sky.unit}`"})
	fmt.Println(string(r.Value))
	// Output: "15 celsius"
}

// Rules decide which tools exist, for every agent or for one.
func ExampleConfig_rules() {
	secret := weather
	secret.Name = "secret_weather"
	h := embed(host.Config{
		Tools: []catalog.Tool{weather, secret},
		Rules: policy.Scopes{Agents: map[string]policy.Rules{"guest": {Deny: []string{"secret_*"}}}},
	})
	defer h.Close()
	for _, agent := range []string{"staff", "guest"} {
		var names []string
		for _, t := range h.Catalog(host.Session{AgentID: agent}).Tools() {
			names = append(names, t.Name)
		}
		fmt.Println(agent, names)
	}
	// Output:
	// staff [secret_weather weather]
	// guest [weather]
}

// One agent may have limits of its own.
func ExampleConfig_agents() {
	h := embed(host.Config{
		Settings: host.Settings{MaxOutput: 64 << 10},
		Agents:   map[string]host.Settings{"small": {MaxOutput: 1 << 10}},
	})
	defer h.Close()
	for _, agent := range []string{"large", "small"} {
		r := h.Exec(ctx, host.Session{AgentID: agent, SessionID: "42"}, host.ExecInput{Code: `return "x".repeat(2000)`})
		fmt.Printf("%s: %s\n", agent, r.Status)
	}
	// Output:
	// large: completed
	// small: failed
}

// With a store that outlives the host, a suspended run continues in another process.
func ExampleConfig_store() {
	var store runstore.Memory // a *sqlite.DB outlives the process, too
	session := host.Session{SessionID: "42"}

	first := embed(host.Config{Store: &store})
	r := first.Exec(ctx, session, host.ExecInput{Code: `let n = 20; await yield_control(); return ++n * 2`})
	if err := first.Close(); err != nil {
		log.Fatal(err)
	}

	second := embed(host.Config{Store: &store})
	defer second.Close()
	r = second.Wait(ctx, session, r.RunID)
	fmt.Println(r.Status, string(r.Value))
	// Output: completed 42
}

// Subscribe to what happens in runs, for a user interface or an audit.
func ExampleHost_Follow() {
	h := embed(host.Config{Tools: []catalog.Tool{weather}})
	defer h.Close()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	events := h.Follow(watching, host.EventFilter{All: true, OwnHost: true})
	h.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{Code: `return (await tools.weather({city: "Rome"})).celsius`})
	for e := range events {
		fmt.Println(strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.ToolName, " ", e.Outcome)))
		if e.Kind == trajectory.RunEnded {
			break
		}
	}
	// Output:
	// run_started
	// call_started weather
	// call_ended weather ok
	// run_ended
}

// Trajectories hold inputs and outputs only if you ask for them, and then redacted.
func ExampleConfig_redaction() {
	login := catalog.Tool{
		Name: "login", Description: "Logs in.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"user":{"type":"string"},"vaultPin":{"type":"string"}}}`),
		Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			return json.RawMessage(`true`), nil
		},
	}
	ended := make(chan trajectory.Event, 1)
	h := embed(host.Config{
		Tools:      []catalog.Tool{login},
		Trajectory: host.TrajectoryConfig{Bodies: &redact.Redactor{Keys: []string{"vault_pin"}}, OnEvent: func(e trajectory.Event) { ended <- e }},
	})
	defer h.Close()
	h.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{Code: `return await tools.login({user: "ada", vaultPin: "1815"})`})
	fmt.Println(string((<-ended).Input))
	// Output: {"user":"ada","vaultPin":"[redacted]"}
}

// RenderTools writes the two tools of code mode as a model provider expects them.
func ExampleCatalog_Definitions() {
	h := embed(host.Config{})
	defer h.Close()
	exec, wait := h.Catalog(host.Session{SessionID: "42"}).Definitions()
	for _, provider := range []modeltools.Provider{modeltools.ProviderOpenAI, modeltools.ProviderAnthropic} {
		b, err := modeltools.Render(provider, []catalog.Tool{exec, wait})
		if err != nil {
			log.Fatal(err)
		}
		var tools []map[string]any
		if err := json.Unmarshal(b, &tools); err != nil {
			log.Fatal(err)
		}
		_, schema := tools[0]["input_schema"]
		fmt.Println(provider, len(tools), tools[0]["type"], schema)
	}
	// Output:
	// openai 2 function false
	// anthropic 2 <nil> true
}

// With a store that outlives the process, Shutdown suspends the programs that run.
// Their Exec returns, and another process can resume them. Shutdown also closes the host.
func ExampleHost_Shutdown() {
	dir, err := os.MkdirTemp("", "runs-") // your program has a state directory
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	started, release := make(chan struct{}), make(chan struct{})
	slow := catalog.Tool{
		Name: "slow", Description: "Takes its time.",
		Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			close(started)
			<-release
			return json.RawMessage(`"done"`), nil
		},
	}
	h := embed(host.Config{Store: store, Tools: []catalog.Tool{slow}})
	parked := make(chan *host.Result)
	go func() {
		parked <- h.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{Code: `return await tools.slow()`})
	}()
	<-started
	bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- h.Shutdown(bounded) }()
	fmt.Println((<-parked).Status) // the program is suspended, its call continues
	close(release)
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	r := h.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{Code: `return 1`})
	fmt.Println(r.Status, r.Code)
	// Output:
	// waiting
	// failed runtime_unavailable
}

// Errors of the host, such as the errors of Answer, have a code and a reason.
func ExampleError() {
	h := embed(host.Config{})
	defer h.Close()
	err := h.Answer(ctx, host.Session{SessionID: "42"}, "run_unknown", "call_1", host.ToolAnswer{})
	var e *host.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, e.Reason)
	}
	// Output: invalid_input run_unavailable
}
