// Package documents keeps small pieces of state that are written whole: approvals and
// their decisions, grants, programs, pins of MCP servers, sign-ins, tasks of MCP clients. It
// knows nothing of what is in them. Package policy, programs, mcp, mcpserver and oauth below
// host keep their state through it, each with one implementation for all drivers.
//
// # Nouns
//
// A [Store] has the documents of one purpose. A document has a name and a content; the
// extension of the name says what kind it is of. A [Dir] is the driver for one machine, a
// file for each document. The driver that several machines share is part of package
// host/postgres.
//
// A [Sealer] binds contents to their names and to the installation. [Sealed] puts one
// around a driver: what is below it is then trusted with nothing but to keep what it was
// given, and can at most give back an older state.
//
// # Lifecycle
//
// A document stays until it is removed. Its time to expire is a note for the caller, who
// finds what is due with [Store.Names]; where documents are transient, [Store.Sweep]
// removes them then. [Store.Watch] tells that documents may have
// changed: it is a hint, and Read is the truth.
//
// # Concurrency
//
// All methods are safe for concurrent use, by any number of processes too. Exactly
// one of several that create one name succeeds. A reader sees a content as one writer wrote
// it, never a part. [Store.Lock] excludes other holders, as long as the holder lives. A
// holder that was paused for longer than its lock lasts writes nothing: what it writes with
// is the context of the lock, and each write is refused with [ErrLockLost] if another has
// it.
//
// # Failure
//
// A document is durable when Create or Replace returns, except with transient documents. An
// error means that it may or may not have been written. [ErrCorrupt] means that a document
// is there and is not what was written under its name.
//
// # Trust
//
// Contents are hostile until their seal has verified, and bounded before they are read.
// Names are made by the caller; [CheckName] keeps them from naming anything else.
package documents
