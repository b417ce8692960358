// Package prelude holds the part of the guest that is written in the guest's own
// language: the globals a cell sees, the bridge that carries its calls to the
// host, and the conversion of its values to JSON. It is for the engine, which
// evaluates [JS] before any guest code runs; no one else needs it.
//
// # Model
//
// The script's value is a factory. Given native, what the engine offers, it
// installs the globals and returns entry, what the engine drives the guest by:
//
//	native = { file(path): string | undefined, error(message, constructor): Error, rejections: array-like }
//	entry  = { start(configJSON, cell), settle(id, ok, json): boolean, fire(): boolean, drain(): string }
//
// A turn settles calls, runs jobs, fires the due timers one by one with jobs
// between, and drains once. The document that drain returns is
//
//	{"s": 0 waiting | 1 done | 2 failed, "v": value (s 1), "e": {name, message, stack, kind} (s 2),
//	 "o": [["text", string] | ["json", value]], "r": [[id, method, ...]], "p": pending calls,
//	 "t": milliseconds to the next timer, or -1}
//
// A failure's kind is "unhandled_rejection", "call_failed" when the program let
// the error of a failed call pass, "value_limit" when it died of a value too big
// to convert, else "exception". A cell is done when its promise has settled and
// no call is pending; timers do not keep it alive. What a timer or microtask
// throws fails the cell, and so does a rejection that is not handled by the end.
//
// Values leave by the rules of JSON.stringify, widened for what models write:
// BigInt becomes a decimal string, Map an array of pairs, Set and binary data
// arrays, Error {name, message}, RegExp its source text, a cycle "[Circular]".
// The files named native.file("catalog.json"), "tools.json", "namespaces/<id>.json",
// "mcp.json" and "mcp/<server>.json" are each read once, when a guest first needs
// them; those behind $api of an MCP server at each call of it. A server of very many tools
// has a file for each, which is read when the guest first uses the tool.
//
// # Order and blocking
//
// Output and calls appear in the order in which the guest made them, ids ascend.
// Timers fire by due time, then creation; one that is set while timers fire
// waits for the next turn, so that a chain of zero delays cannot keep calls from
// leaving. native.file blocks inside a turn. start, settle, fire and drain may
// run guest code (a getter, a patched then), so the engine's deadline and memory
// limit must cover each of them.
//
// # Failure
//
// start, settle, fire and drain do not throw for what a guest does; the engine's
// own interrupt and an exhausted heap pass through them. A guest mistake in a
// call rejects that call with a plain Error with the code "invalid_input".
//
// # Trust
//
// The guest is hostile. Every built-in the bridge uses is captured before guest
// code runs, in src/intrinsics.ts, and called without a property lookup that a
// patched prototype could answer. There is no for-of, no spread, no array
// destructuring and no await in the sources, array writes go to lists without a
// prototype, and options are read from own properties only. Neither native nor
// entry is reachable from a guest object, function or stack. So a guest that
// patches JSON, Promise or a prototype breaks its own results at most. A toJSON
// counts when an object or its class brings it, not when it was patched onto
// Object.prototype or Array.prototype: plain data crosses as what it is. What
// comes from the host is trusted to be well-formed.
//
// The output of one turn, the calls of one turn and the value are each bounded
// by maxValueBytes, calls in flight by 4096, ids by 1024 and queries by 8192
// characters. A call and an output item are booked whole or not at all, also
// when stack or memory run out.
//
// # What it does not do
//
// It decides nothing: which tools exist, whether a path is callable, and how
// many calls run at once is up to the host. Stacks leave it raw; package
// guestserver maps and filters them.
package prelude
