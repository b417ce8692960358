// Package storage keeps the key-value storage of plugins: what a plugin asks its
// host to remember.
//
// A [Memory] forgets with its process; it is for tests. A [File] is one file, to
// which each change is appended and made durable before it counts. It may be open
// any number of times, in one process and in several: each change and each look
// takes the lock beside the file, and reads what the others have appended
// meanwhile. So two generations of a plugin, and two hosts over one state
// directory, see one storage.
//
// Both hold all keys and values in memory, within the limits of package protocol,
// and are safe for concurrent use. Their errors are *protocol.Error: a wrong key, a
// conflict or a full storage is the plugin's to deal with, CodeStorageFailed the
// host's.
//
// A host that dies while it appends leaves a torn end, which the next change cuts
// off. Anything else that is wrong with a file is damage that is reported, not
// mended: the operator decides what to do about it.
package storage
