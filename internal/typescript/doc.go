// Package typescript lets tests ask the TypeScript compiler whether it accepts
// the declarations that guests can read.
//
// [Check] compiles a set of files as one program, strictly and with the library
// of ES2023 alone, which is what a guest has; what else a guest has must be
// declared by the files themselves. The compiler is Microsoft's, in Go, and
// kept in the user's cache directory. Where QUOIN_TSGO is "build", as in make
// test-all, a test builds it from the module cache or proxy, once per machine,
// and fails if it cannot. Otherwise a test that finds no compiler is left out, and says so.
//
// It is for tests only; nothing that ships imports it.
package typescript
