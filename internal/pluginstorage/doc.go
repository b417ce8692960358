// Package pluginstorage keeps the key-value storage of plugins: what a plugin asks its
// host to remember.
//
// A [Memory] forgets with its process; it is for tests. A [Shared] is in a [Log], which a
// database keeps for several hosts: each change is an entry, and of two hosts that append
// at the same time the second reads what the first has appended, and tries again. A [File] is one file, to which
// each change is appended and synced before it counts. It may be open any number of
// times, in one process and in several: every operation takes a lock file, and reads what
// other processes have appended since. So two generations of a plugin, and two hosts with one
// state directory, share one storage.
//
// All hold all keys and values in memory, within the limits of package protocol, and are
// safe for concurrent use. Their errors are *protocol.Error: a wrong key, a conflict or a
// full storage is the plugin's to deal with, CodeStorageFailed the host's.
//
// A host that dies while it appends leaves an incomplete record at the end, which the next
// change cuts off. Any other mistake in a file is damage, which is reported and not
// repaired: the operator decides what to do about it. A Shared with a log that fails tells
// the plugin that the change has failed; the log may have it all the same.
package pluginstorage
