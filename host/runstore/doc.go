// Package runstore keeps suspended runs: the image of the guest, the journal of
// the calls it waits for, and what is needed to hand both to another worker,
// possibly in another process. Embedders of package host choose a store; no one
// else needs this package.
//
// # Nouns
//
// A Record is one suspended run. Its Calls are the journal: every bridge call
// that was pending when the run was suspended, with the answer once it has one.
// A Store keeps records. Effects are what the calls of a run have changed, and how each
// is undone: a journal of its own, which outlives the run. A Claim is the exclusive right
// to write a run; at most one host holds it. Its epoch counts the claims of the run: the
// writes of a claim that is not the newest answer ErrFenced and change nothing.
//
// # Lifecycle
//
// Create stores the first record of a run and claims the run, Claim a run that is there.
// The claim writes: Checkpoint puts another record in the place of the last, PutCalls notes
// the new states of its calls, Delete removes the run. End replaces the record of a run that
// has ended by its result, which stays until it is delivered and deleted. Get reads the newest
// state. A record is stale once Record.Expires has passed: Get then returns ErrExpired, and
// Sweep removes it.
//
// # Concurrency
//
// Every Store is safe for concurrent use. If several create or claim one run, exactly
// one succeeds. A claim ends with Release, with its process (Dir), or with the
// lease of its host (stores over a network).
//
// # Failure and trust
//
// What a Dir reads back is hostile until its HMAC has verified: a record that is
// torn, altered, or was written under another key is ErrCorrupt and never
// partly returned. What was being appended when the process died, or the machine,
// counts as not written: no caller was told that it was. A user who can write to the
// directory and has no key can put an older state of a run back, and no other state.
// Memory trusts its own process.
package runstore
