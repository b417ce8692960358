// Package namespaces keeps the domain APIs that plugins put into guests, such
// as Issues.list(): who may claim a name, which runs may see it, what it looks
// like inside a guest, and which tool a call of it means. It is for the host,
// which owns the registry, and for the plugin SDK, which builds scopes.
//
// # Nouns
//
// A [Registration] is a namespace as a plugin offers it: an id, a global name,
// text for the model, and the plugin's tools behind it. The [Registry] holds
// the registrations of a process. A namespace is visible to a run if the run's
// [Tools] have every required tool under the namespace's own plugin. A [Scope]
// is the content of a namespace for one run: a tree of objects, arrays, plain
// values and callables. A [Call] is what a callable stands for: a tool and a
// [Mapping], which turns the arguments of a JavaScript call into the tool's
// input. A [Class] gives the results of calls methods, which are calls themselves.
//
// # Use
//
//	registry := namespaces.NewRegistry()
//	err := registry.Replace("tracker", []namespaces.Registration{{
//		PluginID:      "tracker",
//		ID:            "issues",
//		GlobalName:    "Issues",
//		RequiredTools: []string{"list_issues", "get_issue"},
//		CreateScope: func(ctx context.Context, rc namespaces.RunContext) (any, error) {
//			return map[string]any{
//				"list": namespaces.Call{Tool: "list_issues"},
//				"get": namespaces.Call{Tool: "get_issue", Mapping: namespaces.Mapping{
//					Kind: namespaces.MapPositional, Positional: []string{"id"}}},
//			}, nil
//		},
//	}})
//
// For each run the host takes Visible, calls CreateScope, and passes the
// result to [Serialize], or the bytes a plugin process sent to [Decode]. It
// checks CheckTargets, gives Guest to the guest, and answers each call of the
// guest through Resolve and Apply.
//
// # Lifecycle
//
// A Registry has no end of its own. A plugin's claims end with Clear or
// Replace; scopes made before stay valid as data, so a run in progress keeps
// its view, and the host checks the tool again at each call. A Scope is never
// changed and needs no closing.
//
// # Concurrency
//
// All methods of Registry may be called at any time from any goroutine. Each
// write takes effect at one instant: a reader sees all of a Replace or nothing
// of it, and never an id or a global with two owners. Reads do not wait for
// functions of plugins, because the Registry does not call CreateScope or
// MapInput, and calls Tools only while it holds no lock. Nothing in this package
// blocks or starts a goroutine. A Scope may be used by many goroutines; only
// UnmarshalJSON, which replaces it, must be alone.
//
// # Failure
//
// Every error is an *[Error] with a [Code], to be told apart by
// errors.Is(err, namespaces.Cycle). Codes of registrations and of scopes blame
// the plugin; [MappingArguments] and [PathNotCallable] blame the guest;
// [MappingInPlugin] is no failure but a hint to ask the plugin. A retry without a
// change fails again.
//
// # Trust
//
// Encoded scopes come from other processes and paths from guests; both are
// taken for hostile and checked here. Values given to Serialize are the own
// process's and trusted not to race with it. That a plugin is who it says is
// for the loader of plugins to know, and that a call is allowed for the host's
// policy.
//
// # What it does not do
//
// It runs no tool, knows no catalog, and builds no JavaScript objects: see
// packages host, host/catalog and guestrt/internal/prelude.
package namespaces
