// Package runs runs programs: it takes each run from its first turn to its result,
// over any number of waits, and makes the calls that the program asks for.
//
// An [Engine] has the runs of this process and the verbs: Exec, Wait, Abort, Answer. It asks its
// embedder, package host, what a run can reach and which hooks look at its calls. Below it are
// packages that import only those further down:
//
//   - upkeep looks after suspended runs, drive has a guest take its turns;
//   - guests has the workers of each build of the guest;
//   - pipeline has one call pass its stages, in the order of its stages.go;
//   - run is what a run is, and what all runs of a host share;
//   - journal is what the store knows of a run, calls is the table of its calls;
//   - replay, output, fault and timing are leaves.
//
// Two rules make a run survive its process, and journal keeps both: the image of the
// heap is stored before a call leaves, and the journal has an answer before the program
// gets it.
//
// Guest workers are hostile: what they send is checked (calls/admission.go, drive/outcome.go,
// output/budget.go). Plugins, MCP servers and stores fail: each failure becomes an error with a
// code (package fault).
package runs
