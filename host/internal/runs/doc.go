// Package runs runs programs: it takes each run from its first turn to its result,
// over any number of waits, and makes the calls that the program asks for.
//
// An [Engine] owns the guest workers, the runs of this process, and the stores of
// runs and approvals. It asks its embedder, package host, what a run can reach (a
// [ViewSource]) and which hooks look at its calls.
//
// A run is five things, each with a lock of its own: what it is (run.go), its state
// (state.go has the table of transitions), its calls (calltable.go), what the store knows
// of it (record.go) and, while an Exec or a Wait is inside, the driver of its worker
// (driver.go).
//
// A suspended run that no caller waits for may go on all the same: advance.go starts drivers for
// such runs, advance_due.go finds them, and unattended.go says in what these drivers differ.
//
// One call passes the stages of stages.go, in that order; each stage is in the file of
// its name (record in record_call.go). A tool that asks a person sends its call back to the
// stage approve (inquire.go). Observers stand around the stages (pipeline.go) and not in them.
//
// Two rules make a run survive its process, and record.go keeps both: the image of the
// heap is stored before a call leaves, and the journal has an answer before the program
// gets it.
//
// Guest workers are hostile: what they send is checked here (calls_admission.go,
// outcome.go, output.go). Plugins, MCP servers and stores fail: each failure becomes an error with
// a code (failure.go).
package runs
