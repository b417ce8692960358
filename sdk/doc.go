// Package sdk is how a Go program becomes a Quoin plugin: typed functions turn
// into tools with JSON Schemas, namespaces give guests verbs for them, and
// Serve does the rest. This is a complete plugin:
//
//	type GetInput struct {
//		ID int `json:"id" jsonschema:"number of the note" min:"1"`
//	}
//
//	type Note struct {
//		ID   int    `json:"id"`
//		Text string `json:"text"`
//	}
//
//	func main() {
//		notes := map[int]Note{1: {ID: 1, Text: "water the plants"}}
//
//		p := sdk.New(sdk.Info{ID: "notes", Version: "1.0.0", Description: "Short notes."}, nil)
//		get := sdk.AddTool(p, sdk.Tool{
//			Name:        "notes_get",
//			Description: "Returns one note.",
//			ReadOnly:    true,
//			Examples:    []sdk.Example{{Input: GetInput{ID: 1}}},
//		}, func(ctx context.Context, c *sdk.Call, in GetInput) (Note, error) {
//			note, ok := notes[in.ID]
//			if !ok {
//				return Note{}, sdk.Errorf("not_found", "there is no note %d", in.ID)
//			}
//			return note, nil
//		})
//		p.AddNamespace(sdk.Namespace{
//			ID: "notes", Global: "Notes", Description: "Short notes.",
//			Scope: sdk.Scope{"get": sdk.Verb(get).Positional("id")},
//		})
//		sdk.Serve(p)
//	}
//
// The file plugin.json stands next to the binary:
//
//	{"id": "notes", "version": "1.0.0", "protocol": 2, "command": "./notes"}
//
// A guest now writes `await Notes.get(1)` or `await tools.notes_get({id: 1})`.
//
// # Nouns
//
// A [Plugin] collects what the process offers. A [Tool] is one function the
// model can call; adding it yields a [ToolRef]. A [Namespace] is a global
// object for guests; its [Scope] maps names to verbs, further scopes and plain
// data; a [Verb] leads to a tool and says how arguments become its input. A
// [Class] gives the results of verbs methods, and a verb with a [Template] stands in
// front of template literals. A [Call] is one call in progress, made on behalf of a run that a [RunContext]
// names.
//
// # Hooks
//
// [Plugin.BeforeToolCall] and [Plugin.AfterToolCall] look at tool calls: a hook
// may rewrite the input, block the call, make it wait for a person, or replace
// the result. A plugin sees the calls of its own tools; it sees the calls of
// other tools only if the operator of the host allows it, who then also relies on
// the hook: while the plugin is not there, the calls it would have seen are
// blocked.
//
// # What the host has for a plugin
//
// [Plugin.Storage] keeps values by key for the plugin, over crashes, updates and
// restarts of the host. [Config.Secret], in OnConfigure, is a secret that the
// operator has configured as plugins.secrets; a [Secret] prints as "[secret]"
// wherever it ends up, and the host takes its text out of whatever else comes from
// the plugin. [Call.Progress] tells those who watch a run how far a call is; programs
// never see it. The [slog.Logger] of a call, or of the plugin, writes to the host's
// log with its levels, fields and groups.
//
// All of this but progress and logs needs "protocol": 2 in plugin.json.
//
// # Schemas
//
// Input and output schemas follow the types as encoding/json encodes them. A
// field is required unless it is marked omitempty or omitzero. Field tags add
// to the schema:
//
//	jsonschema:"text"   description
//	enum:"open,closed"  the only values allowed (of a list: of its items)
//	min:"1" max:"50"    bounds of a number, or of a string's length
//	default:"20"        filled in when the field is absent; needs omitempty
//
// Inputs are checked before the handler runs. Fields the type does not have are
// refused, and the message names the field, what was expected and what came.
// Nil slices and maps in results become [] and {}.
//
// # Lifecycle
//
// Register everything, then call [Serve], which blocks. The host asks for the
// description, runs the functions given to [Plugin.OnConfigure], and then
// calls. When the host stops or replaces the plugin, no new calls come, the functions
// given to [Plugin.OnDrain] run and running calls may end; when it goes away without
// a word, they get a moment. Then the functions given to [Plugin.OnClose] run, in
// reverse order.
//
// # Concurrency
//
// Registering is for one goroutine, before Serve. Afterwards handlers, scope
// functions and mapping functions run concurrently with each other and
// themselves. The context of a call ends when the host cancels the call, stops
// waiting for it or goes away. A handler that ignores its context keeps
// running, but the host no longer waits for it.
//
// # Failure
//
// A handler returns [Errorf] or an [*Error] for what the model should read. Its
// Retryable and Effect say whether the call may be repeated and what it has changed;
// a program reads them, and Details, as data of the error it catches. A tool that is
// ReadOnly or Idempotent is called again when its host was stopped during a call.
// Any other error reaches the model as its text with the code "tool_error". A
// panic fails the one call with an error that names plugin and tool; its stack
// goes to the log. A mistake in registration ends the program at once, by a panic, or
// under a host by one line that says where it was made; a Safely twin of each function
// returns the error instead. In development a call that does not answer is logged with
// the place where it stands.
//
// # Trust
//
// The host is trusted. Inputs are written by models and guests: they fit the
// schema, and that is all that is known of them. A plugin process gets no
// environment beyond TZ, HOME, TMPDIR and QUOIN_*, no arguments and no terminal.
//
// # Not here
//
// The package does not start plugins (see package plugins), and sets neither
// GOMAXPROCS nor memory limits: those are the plugin's own. Package sdktest runs
// a plugin inside a test.
package sdk
