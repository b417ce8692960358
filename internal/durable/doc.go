// Package durable writes files that survive a crash, reads files that must be
// private, and locks files between processes. It is the one place of this module
// that does so: every store of the host, the lock of a plugin directory and the
// keys and tokens of users go through it.
//
// # Writing
//
// [Replace] puts a whole file in the place of another, [Create] makes a new
// one. Both write a temporary file next to the target, sync it, move it
// into place and sync the directory. A reader sees the old file or the new one,
// also after a power failure. When either returns without an error, the file is on
// disk. A process that dies in between leaves a file with the extension [TempExt].
//
// # Reading
//
// [ReadFile] reads a regular file of bounded size, and never waits for the writer
// of a pipe. [ReadPrivate] also refuses a file that other users can use or own. Both
// look at the file that they have opened, not at its name: no other process can swap the file
// between the check and the read. Links are followed, because systems that mount
// secrets mount them as links, and what counts is the file at the end.
//
// # Locks
//
// [Lock] and [TryLock] lock a file until the holder unlocks it or dies.
package durable
