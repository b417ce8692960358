package enginefaults

import "strings"

// State says what became of a fault in one engine.
type State string

// States of a fault. Only Open ones can be reached by a program.
const (
	Absent      State = "not there"     // this engine never had it, or no longer
	Repaired    State = "repaired"      // by a patch or a replacement of ours
	Ends        State = "ends the run"  // the guest is ended where the fault would come in
	LeftOut     State = "left out"      // the feature is not in the engine that guests get
	Unreachable State = "not reachable" // no guest can get there
	Open        State = "open"
)

// Fault is a fault of memory safety, and its state in both engines.
type Fault struct {
	What     string // what goes wrong, for what program
	Upstream string // the commit of quickjs-ng that fixed it, if there is one
	Programs string // the first part of the names of its programs in testdata/safety
	Default  State
	Native   State
}

// All are the faults that quickjs-ng fixed between 0.13.0 and August 2026, and those
// found here.
var All = []Fault{
	{"a suspended coroutine that only a closure reaches is freed", "7955cfd", "coroutine", Absent, Repaired},
	{"the same of generators", "7955cfd", "generator-held-by-closure", Absent, Repaired},
	{"the same of async generators", "7955cfd", "async-generator", Absent, Repaired},
	{"the same of generators that only their arguments object reaches", "", "generator-held-by-arguments", Absent, Repaired},
	{"a push to an array whose length was set shows elements never written", "d98ff10", "array-push", Absent, Repaired},
	{"an array cut and made long again shows what was cut off", "da49a37", "array-regrown", Absent, Repaired},
	{"an array whose last element was deleted shows it again", "1b0b660", "array-delete", Absent, Absent},
	{"a push near the largest length writes behind the array", "a653771, 40e197f", "array-length", Absent, Absent},
	{"JSON.stringify takes an indentation in pieces for a contiguous one", "35e195c", "json-indent", Repaired, Repaired},
	{"RegExp.escape takes a string in pieces for a contiguous one", "ee13c7f", "regexp-escape", Absent, Repaired},
	{"the compiler of regular expressions writes behind its code when memory runs out", "c2f37ec", "out-of-memory-regexps", Ends, Repaired},
	{"the writer of stacks frees the error when memory runs out", "e1c1e41", "out-of-memory-errors", Ends, Absent},
	{"the functions of a promise are freed twice when memory runs out", "776d724", "out-of-memory-promises", Absent, Repaired},
	{"a call site is freed twice when memory runs out", "c846cb1", "", Absent, LeftOut},
	{"find, filter and set operations count references that they do not drop", "947e6b0, 3c8f3d6, 6d9bfbd", "references", Absent, Repaired},
	{"a disposer that runs the collector sees what was disposed of", "d0c2272", "", LeftOut, LeftOut},
	{"an async disposable stack reads an argument that was not passed", "05b2db9", "", LeftOut, LeftOut},
	{"the memory of a detached buffer of the embedder's is freed twice", "4369dd6", "array-buffer", Unreachable, Unreachable},
	{"the size of a list of a proxy's keys overflows in 32 bits", "252209d", "proxy-keys", Unreachable, Unreachable},
	{"the size of a typed array's sort overflows in 32 bits", "e93cca6", "typed-array-sort", Unreachable, Unreachable},
	{"the size of a list overflows in 32 bits", "e2c4521", "", Unreachable, Unreachable},
	{"a cycle of modules that export what they import dereferences null", "ef7a3a7", "", Unreachable, Unreachable},
}

// OpenIn returns what is open in the engine of this id.
func OpenIn(engineID string) (open []string) {
	native := strings.HasPrefix(engineID, "quickjs-ng-")
	for _, f := range All {
		state := f.Default
		if native {
			state = f.Native
		}
		if state == Open {
			open = append(open, f.What)
		}
	}
	return open
}
