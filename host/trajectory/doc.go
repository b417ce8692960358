// Package trajectory records what the cells of a host did: runs as they start, are
// suspended, resumed and end, every nested call under the exec that began its run,
// and the decisions that calls waited for. It is for embedders and operators.
//
// # Nouns
//
// An Event is one thing that happened. It carries ids, timing, outcome and sizes,
// never inputs, outputs or secrets, unless the embedder asked the host for bodies,
// which are redacted and capped before an Event holds them. A Sink takes the events
// of a host: a Recorder keeps them in memory, a Dir in files of JSON lines. A Run is
// what was recorded of one run; it groups into Legs, one for each exec and wait, and
// renders as a tree (WriteTree) or as messages of a conversation (Transcript), in
// which nested calls are ordinary tool calls that name their parent.
//
//	dir, err := trajectory.OpenDir("state/trajectory", trajectory.DirOptions{})
//	if err != nil {
//		return err
//	}
//	defer dir.Close()
//	h, err := host.New(ctx, host.Config{Trajectory: dir})
//
// # Lifecycle
//
// A Dir holds a file open while its run is driven. Close it after the host. Files go
// when they are old or too many: see DirOptions.
//
// # Concurrency
//
// Recorder and Dir are safe for concurrent use, and processes may share a directory.
// The events of one call come in their order; those of calls that run at the same
// time do not.
//
// # Failure
//
// A Sink that fails stops nothing: the host logs and counts it. A file that is full
// goes on to say how its run ended, and how many events it lacks.
//
// # Trust
//
// Names in events are the guest's and the plugins': trees replace what would speak to
// a terminal. A file is checked line by line as it is read, and read no further than
// to the first that is wrong. Only the session of a run reads it; whoever can read the
// files, which are of mode 0600, can read all of them.
//
// # What it does not do
//
// Traces are in package host/trajectory/tracing, metrics in package host/internal/metrics.
package trajectory
