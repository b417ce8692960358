// Package history judges what several hosts did with runs that they share. It is for
// the chaos run and for tests of stores and clusters.
//
// # Nouns
//
// An [Event] is one thing that was seen from outside of the hosts: a client that was told
// something, a plugin that was called, a store that granted a claim or took a write. A
// [Recorder] puts the events of a test in one order. A [Violation] is a broken promise
// and the events that prove it. [Check] looks for violations; the promises are the
// values of [Rule].
//
// # Lifecycle
//
// A test records while it runs, heals what it broke, waits for every run that a client
// was told of, and then calls Check once. A run that has not ended by then counts as lost.
//
// # Concurrency
//
// A Recorder may be used by several goroutines. Check is a function of its events.
//
// # Failure and trust
//
// Check believes its events, so record each where it cannot be wrong: an effect
// where it takes place, a claim and a write inside the store's transaction, an answer
// when the client has it. What a host says of itself is no event: a host that is
// paused says it too late.
//
// The order of events counts only among the events of one run and one kind of witness. A
// call that was on its way when its host was paused may arrive at any later time; so the
// order between an effect and a claim proves nothing, unless the plugin compares epochs.
package history
