// Package conformance examines a built plugin, in whatever language it is
// written, from outside: it starts the plugin from its folder as a host does, and
// also as a host by the letter of docs/reference/plugin-protocol.md, and holds what comes
// back against the protocol.
//
//	report, err := conformance.Check(ctx, "build/plugins/notes", nil)
//	if err != nil {
//		return err // it could not be examined at all
//	}
//	for _, r := range report.Parts {
//		fmt.Println(r.Name, r.Problems, r.NotExercised)
//	}
//
// Tests in Go call [Exercise]; all others run "quoin plugin conformance".
//
// # Nouns
//
// A part is one question put to the plugin, in a process of its own. A problem
// names what was done, what came back and what was expected. What only a tool that
// cooperates can show (a failure, progress, a call that lasts until it is
// cancelled) needs a [Declaration], which names such tools and their inputs; what
// is not declared is not exercised, and the report says so.
//
// Tools that are neither declared nor marked read-only are called with refused
// inputs only.
//
// # Concurrency and lifetime
//
// [Check] may run for several plugins at once. It writes into temporary folders
// only, which are gone when it returns, like the processes. Ending its context
// ends it.
//
// # Not here
//
// Whether a plugin's own tools do what they should: see package sdktest.
package conformance
