// Package trajectory records what the cells of a host did: runs as they start, are
// suspended, resumed and end, every nested call under the exec that started its run,
// and the decisions that calls waited for. It is for embedders and operators.
//
// # Nouns
//
// An Event is one thing that happened. It carries ids, timing, outcome and sizes,
// never inputs, outputs or secrets, unless the embedder asked the host for bodies,
// which are redacted and capped before an Event holds them. A Sink takes the events
// of a host: a Recorder keeps them in memory, a Dir in files of JSON lines. A Run is
// what was recorded of one run; it groups into Segments, one for each exec and wait, and
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
// A Dir holds a file open while its run executes. Close it after the host. It removes
// files that are old or too many: see DirOptions.
//
// # Concurrency
//
// Recorder and Dir are safe for concurrent use, and processes may share a directory.
// The events of one call arrive in order. Events of concurrent calls interleave.
//
// # Failure
//
// A Sink that fails stops no run: the host logs and counts the failure. A full file
// still records how its run ended, and how many events are missing.
//
// # Trust
//
// Names in events come from guests and plugins: trees replace characters that control
// a terminal. Read checks a file line by line and stops at the first wrong one. Read
// returns a run to its own session alone. A process that can open the files, which
// have mode 0600, can read all of them.
//
// # What it does not do
//
// Traces are in package host/trajectory/tracing, metrics in package host/internal/metrics.
package trajectory
