// Command quoin-optimize builds the guest worker with the default engine, QuickJS
// in Go, made faster.
//
//	go run github.com/quoinhq/quoin/guestrt/cmd/quoin-optimize -o quoin-guest
//	go run github.com/quoinhq/quoin/guestrt/cmd/quoin-optimize flags
//
// The first builds the worker; the second prints the flags with which go build and
// go test use the optimised library. Both work in the module of an embedder.
//
// # Nouns
//
// The library is the Go package that a compiler made of QuickJS in C. The optimiser
// rewrites its source: it changes how the generated code keeps a function's C
// variables, not what the code computes. A frame is the place of one function's C
// variables. The proxy is a directory laid out as the Go tool wants modules; the
// rewritten library is a module there, named by its content, so that the worker's
// hash depends on no directory.
//
// # What is rewritten
//
// A function that keeps C variables in memory takes a frame and gives it back by a
// deferred call. Frames become a stack of bytes, given back before each return.
// Variables become Go variables if they only ever hold a value of the guest and
// their address is not taken; a short function has no frame if all its variables
// did. Conditions lose their way through integers. Recursion is bounded by bytes of
// that stack, as in C, instead of by frames.
//
// # Lifecycle and concurrency
//
// Results are kept below the user's cache directory, by their content, and written
// whole, so that builds may run at once. The rewritten library has one stack: it
// serves one engine in a process, and the engine is not called concurrently.
//
// # Failure
//
// The optimiser knows one version of the library, by its checksum, and what it does
// not understand it leaves as it is or refuses. Without it, go build makes a worker
// that does the same more slowly; images of one are not read by the other.
//
// # Trust
//
// The library's module is trusted as any dependency is. The optimiser runs when a
// worker is built, never where guests run.
package main
