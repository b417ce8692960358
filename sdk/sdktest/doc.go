// Package sdktest runs a plugin inside a test, over real gRPC and the real
// codec, without a process and without a build:
//
//	h := sdktest.Start(t, newPlugin(), nil)
//	out, err := h.Call("notes_get", map[string]any{"id": 1})
//
// A [Harness] is the host's stand-in. [Harness.Call] calls a tool by its name;
// [Harness.Verb] goes through a namespace the way a guest's call does: it asks
// the plugin for the scope of the run, finds the verb by its path, applies the
// argument mapping and calls the tool. Results are checked against the tool's
// output schema, which the compiler cannot see.
//
// [Harness.Cell] runs a whole guest program against the plugin, in a real worker
// process; TestMain must call [Main] for that:
//
//	res := h.Cell(`return await Notes.get(1)`)
//
// Start configures the plugin with a fresh data directory, the secrets of
// [Options] and a storage in memory, which [Harness.Storage] looks into. When the
// test ends the plugin is drained and closed. A Harness may be used by several goroutines at a time, except
// Run, which sets the run of later calls. Errors are *protocol.Error, as a host
// sees them.
package sdktest
