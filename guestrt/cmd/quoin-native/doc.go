// Command quoin-native builds the guest worker with the native engine: QuickJS as C
// code, compiled by this machine's C compiler.
//
//	quoin-native [-o FILE] [-sanitize]   build the worker, bin/quoin-guest-native by default
//	quoin-native env                     print the variables with which go test -tags quickjs_c works
//
// # Nouns
//
// The source is the C code of quickjs-ng as a Go module carries it, pinned by the sum
// of the module and the SHA-256 of every file that is compiled. A patch is a change of
// ours to that source. The shim is the C code of ours that package quickjs calls; it is
// compiled with the engine as one translation unit. The library is the archive made of
// these, in a directory of the user's cache that is named by all that went into it.
//
// # Lifecycle
//
// A build fetches the module if the module cache lacks it, checks, patches and compiles,
// unless the library is there, and links the worker with it: static, at fixed addresses,
// and the same bytes for the same source, compiler and C library.
//
// # Concurrency
//
// Builds may run at the same time: a library is moved into its place when it is whole.
//
// # Failure
//
// A source that is not what was pinned, a patch that does not apply in exactly one place
// and a compiler that is missing are errors. Nothing is left half done.
//
// # Trust
//
// The source comes over the network and is checked before it is compiled. The C
// compiler, its libraries and the Go tool are trusted.
package main
