// Package programs keeps programs under a name, so that a model or a person runs one again
// without sending it again. Embedders of package host choose a store; no one else needs
// this package.
//
// # Nouns
//
// A [Kept] is the program of a run, which stays for a bounded time after the run has
// ended. A [Program] is one that was saved under a name, with the schema of its input and
// the tools that it ran with. A [Store] has both. An [Audience] says which sessions a
// program is there for.
//
// # Lifecycle
//
// A host keeps the program of each run when the run is first suspended, and when it has
// completed. [Save] makes a Program of it, which stays until Remove. [Find] returns the
// program that a session means by a name. If its tools have changed, a program is not run
// until a person has reviewed it; [Program.Tools] says what they were.
//
// # Concurrency
//
// Every Store is safe for concurrent use, and a Stored by several processes. If two
// processes save one name, exactly one succeeds unless they replace. Values that a store returns are shared:
// do not change them.
//
// # Failure
//
// An [Error] has a code and a message for people and models. What the file system says is
// returned as it is. Kept programs are written without waiting for the disk: a machine
// that stops may lose the newest.
//
// # Trust
//
// What a Stored reads back is hostile until its seal has verified. A program may do what the
// session that runs it may do, and no more: rules, hooks and approvals look at each of its
// calls.
package programs
