// Package typescript lets tests ask the TypeScript compiler whether it accepts
// the declarations that guests can read.
//
// [Check] compiles a set of files as one program, strictly and with the library
// of ES2023 alone, which is what a guest has; what else a guest has must be
// declared by the files themselves. The compiler is Microsoft's, in Go, built
// from the module cache or proxy once per machine and kept in the user's cache
// directory. A test that cannot get it fails and says how to.
//
// It is for tests only; nothing that ships imports it.
package typescript
