// Package sqlite keeps the state of one machine in one SQLite file: suspended runs and results,
// the effects of their calls, approvals, programs, pins, sign-ins, tasks, and what plugins have
// stored; and trajectories in another, which harms no run when it is full. It has the tables of
// package postgres, with the same sealed rows.
//
// # Nouns
//
// DB is the state as one process has it open. A process that owns something has a file that it
// locks: what it owns is its own while it lives, also while it is stopped, and free as soon as it
// has died. A claim names the process that owns a run, and an epoch. A writer makes the writes of
// its process: those that arrive together share one transaction and one sync of the disk.
//
// # Lifecycle
//
// [Open] makes the directory, the key and the tables, or renews the tables; it refuses a file that
// a newer version has made, that has another key, or that is damaged, and does not write it.
// [DB.Close] gives up what the process holds.
//
// # Concurrency
//
// A DB is safe for concurrent use, and several processes may use one state. Changes of others are
// found by looking when the log of the database was written to, and from time to time.
//
// # Failure and trust
//
// What a write has answered is on the disk, but for claims, reservations, wake-ups, programs of
// runs and trajectories: those outlive the process, and may not outlive the machine. An error of a
// write means that it has not counted, unless the commit itself has failed. A full disk answers
// runstore.ErrUnavailable until there is room. A user who can write to the file and has no key
// can put an old state of a run back, and no other state.
package sqlite
