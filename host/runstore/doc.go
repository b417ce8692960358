// Package runstore keeps suspended runs: the image of the guest, the journal of
// the calls it waits for, and what is needed to hand both to another worker,
// possibly in another process. Embedders of package host choose a store; nobody
// else needs this package.
//
// # Nouns
//
// A Record is one suspended run. Its Calls are the journal: every bridge call
// that was pending when the run was suspended, with the answer once it has one.
// A Store keeps records. A Claim is the exclusive right to resume a run or to
// add answers to its journal; at most one process holds it.
//
// # Lifecycle
//
// Put stores a record, PutCalls replaces its journal while the run stays
// suspended, Get reads both, Delete forgets them. A record is stale once
// Record.Expires has passed: Get then answers ErrExpired, and Sweep removes it.
//
// # Concurrency
//
// Every Store is safe for concurrent use. Two Puts of one id leave one of the
// two records whole, never a mixture. Claims order resumers across processes
// where the store is shared (Dir); they end when their holder dies.
//
// # Failure and trust
//
// What a Dir reads back is hostile until its HMAC has verified: a record that is
// torn, altered, or was written under another key is ErrCorrupt and never
// partly returned. Memory trusts its own process.
package runstore
