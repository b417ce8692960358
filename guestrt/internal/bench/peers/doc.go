// Package peers measures both guest engines next to their peers, in one run and in
// turns: quickjs-wasi, the engine that comparable hosts for Node.js use, which is
// QuickJS in WebAssembly with snapshots; QuickJS in C of both forks, in a program
// that does nothing else; and quickjs-go, QuickJS in C behind cgo.
//
// Run it with make bench-peers. quickjs-wasi needs node, npm and its registry, the
// others a C compiler and the Go module proxy. All are fetched when the benchmark
// runs, in pinned versions, into temporary folders and the module cache; a peer that
// cannot be had is left out, and the benchmark says why. So is the V8-v7 set; its
// programs run a fixed number of times each.
//
// Each peer runs each cell in a process of its own, one after the other, in several
// rounds: a ratio is the median of the ratios of the rounds, so that a busy machine
// disturbs it less. Programs count by their processor time, what is short by the wall
// time. What is compared is the engine inside its process: no socket, no sandbox, no
// host.
package peers
