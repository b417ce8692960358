// Package host embeds code mode in a Go gateway. It is for authors of gateways;
// plugin authors need package sdk instead.
//
// # Nouns
//
// A Host owns guest workers, plugins and suspended runs. A cell is one program
// that a model gives to Exec. A run is a cell from Exec to its end, across any
// number of Waits. A Session is who asks; a run belongs to one. A Result is what
// the model gets back. A tool is something a cell can call; plugins bring tools
// and namespaces, and the embedder may bring tools of its own.
//
//	h, err := host.New(ctx, host.Config{Plugins: host.PluginConfig{Dir: "plugins.d"}})
//	if err != nil {
//		return err
//	}
//	defer h.Close()
//	res := h.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{
//		Code: `return await Issues.list({ state: "open" })`,
//	})
//	for res.Status == host.StatusWaiting {
//		res = h.Wait(ctx, host.Session{SessionID: "42"}, res.RunID)
//	}
//
// # In front of a model
//
// A gateway has a list of tools for each request to a model. It gives that list to
// Host.ModelTools and shows the model what it returns: exec, wait and the tools that only the
// model can use, while the others go where programs find them; or the list as it was, where
// the settings leave code mode off for the agent, the model or the request. modeltools.Render
// writes the definitions for a provider, and ModelTools.VerifyPayload refuses a request that
// shows anything else. A gateway that has no tools of its own, or serves code mode itself,
// uses Definitions, ParseExec, ParseWait, Exec and Wait.
//
// # Tools of the embedder
//
// catalog.Func makes a tool of a Go function, catalog.FromDefinitions of definitions and
// one function that calls them, and mcp.Server of an MCP server or session of the same
// process. The context of a call has the values of the newest Exec or Wait of its run in
// this process, also once the run is suspended and no request is there; it ends with the
// run, and has no deadline. A request that is cancelled aborts the run that it drives.
// Events yields what happens in a run as it happens.
//
// # Hooks and approvals
//
// Config.Hooks see every tool call, and every program, before and after; the hooks of plugins
// follow. A hook rewrites, blocks, replaces results, or asks for a person: then the call
// waits, the deadline of its run pauses, and the run is suspended if it takes long, with the
// reason approval. Config.Approvals.OnNew hears of the question, Decide answers it, in this
// process or in another that shares Config.Approvals.Store. Whatever fails on the way blocks
// the call. See package policy.
//
// A tool can ask a person itself: it returns a *codemode.InputRequired, its call waits in
// the same way, AnswerQuestion answers, and the tool is invoked again with the answers.
// PendingApprovals of a waiting Result are what people are asked, as values.
//
// # Configuration
//
// Config says everything; its zero value works. Package host/internal/configfile makes most of
// one from a JSON5 file, the environment and flags, and reports all that is wrong with them.
//
// # What a run reaches
//
// Every run has a view of its own: the tools of embedder, plugins and MCP servers,
// less what Config.Rules and ExecInput.Rules take away, plus ExecInput.Tools, which
// the caller of the run answers by a callback or through Answer. What rules deny
// does not exist for the run, under no name and in no list. The view is resolved
// when a run starts and again when it resumes. Programs read how its tools are
// declared with await API.read("tools/<name>.d.ts").
//
// # Plugins
//
// The plugins of Config.Plugins.Dir may change while the host runs. ReloadPlugin
// brings one in line with its folder, Config.Plugins.Watch does so whenever a folder
// changes, and Develop puts one from another folder in its place for a time. A call
// ends on the plugin that it started on. A quoin.lock in the directory, and
// Config.Plugins.TrustedKeys, decide which plugins start and as what files; what
// Config.Plugins.Secrets name reaches the plugin alone. See package plugins.
//
// # Lifecycle
//
// New starts workers and plugins, Close stops both and leaves no process. Shutdown is Close
// for hosts with a Store that outlives them: running programs are parked there as soon as they
// wait. Runs lists what has not ended, EndSession ends it. Exec runs a cell in a worker of its
// own; every bridge call is served inside the active Exec or Wait as its answer arrives. Exec
// returns early when the program calls yield_control, at its deadline while it waits for
// tools, when only the caller can answer what it waits for, and when the host shuts down: then
// the guest's whole heap is taken out of the worker and stored, the worker is free again, and
// Wait puts the heap into any free worker, in this process or in another that shares the
// Store. Tool calls of a suspended run continue. With Config.Advance its program continues
// too, without a caller: the next Wait gets the outcome.
//
// # Concurrency
//
// All methods of Host are safe for concurrent use. Two Waits of one run never
// overlap: the second gets the reason run_busy. Config.Trajectory.OnEvent is called from
// many goroutines.
//
// # Failure
//
// Exec and Wait always return a Result and never an error or a panic. A failed Result says
// what happened (Code, Reason), who is at fault (Phase), and whether a tool call had left the
// guest (Dispatched). That tells you whether it is safe to repair the program and run it
// again.
//
// # Trust
//
// Programs are hostile, and so is the worker once it has read one: whatever it
// sends is bounded and checked. Plugins are trusted to do what their tools say,
// but not with each other's names: a namespace can call only tools that its own
// plugin owns. MCP servers are hostile: what they send is bounded before it is
// decoded, and their hints count only where the configuration says so. Records of suspended runs are refused unless their seal verifies.
//
// # Telemetry
//
// Config.Trajectory.Sink takes every event of runs and nested calls (package
// host/trajectory), Config.TracerProvider a span for each, Metrics are for
// Prometheus, and Follow is for those who watch. Tell Exec and Wait the id
// under which the model called them with WithToolCallID, and give them the context of
// your own span. Nothing of it holds inputs or outputs unless Config.Trajectory.Bodies
// asks for them, redacted. QUOIN_DEBUG_CODE_MODE, QUOIN_DEBUG_MODEL_PAYLOAD and
// QUOIN_DEBUG_SSE write to the log what package host/internal/debuglog says.
//
// # What it does not do
//
// Isolation of the guest is package guestrt's, plugin processes are package
// plugins', and the model's conversation is the embedder's.
package host
