// Package trajectory records what the cells of a host did: one event for every
// nested call, under the run that made it.
//
// An Event carries ids, timing, outcome and sizes, never inputs, outputs or
// secrets. A Recorder keeps the events of the runs it has seen, in order of
// their start, and renders one run as a tree. It is safe for concurrent use.
package trajectory
