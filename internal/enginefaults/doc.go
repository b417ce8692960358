// Package enginefaults lists the faults of memory safety that are known of the guest
// engines, and what became of each. The page docs/engines.md and quoin doctor show it.
//
// # Nouns
//
// A fault is a way in which a program can make QuickJS use memory that is not its own.
// Its state says, for one engine, whether a program can still do that.
//
// # Lifecycle and concurrency
//
// The list is a constant of the build. Any goroutine may read it.
//
// # Failure and trust
//
// Nothing fails. The list is written by hand: each fault with a program has a test that
// runs it on both engines, and a fault that the list does not have is not known here.
package enginefaults
