// Package postgres keeps the runs of several hosts in one PostgreSQL database: any of them
// continues a run, and a host that dies loses no run. An embedder that wants that imports it;
// nothing else links a driver of PostgreSQL.
//
// # Nouns
//
// DB is the connection of one host to the database, and implements what package runstore
// asks of a store. A host has a lease, a row that it renews by the clock of the
// database. A claim names the host that owns a run, and an epoch; it holds as long as
// the lease of its host. Hints are notifications that tell other hosts where to look.
// The key seals everything that is stored, and is on the hosts alone. A Trajectory records
// what the runs of one host do, and reads what the runs of all hosts did.
//
// # Lifecycle
//
// Migrate makes or renews the tables, and is the only one that does. Open refuses a database
// that was not migrated, one that a newer version has migrated, and one with rows that were
// sealed with another key. The lease starts with the first claim. Close gives up the lease, so
// that others can have the runs at once.
//
// # Concurrency
//
// A DB is safe for concurrent use. Its pool of connections is bounded; a lease has a
// connection of its own, so that slow statements do not end it. A claim has one user
// at a time, as every claim of package runstore.
//
// # Failure and trust
//
// Every write of a run names its epoch and its owner, and is one statement: a host that
// was paused or cut off writes nothing, and learns so with runstore.ErrFenced. Statements
// are tried again while the database restarts, for a bounded time; each has the same
// effect once or twice. A user who can write to the database can delete runs and put an old
// state of a run back, and no other state: rows are bound to their run, their place and
// the row before by HMACs. Rows of a trajectory are bound to their run and place
// alone: a row that was deleted is not noticed. Images and results are sealed, not encrypted.
package postgres
