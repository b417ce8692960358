// Package trust says which files a plugin consists of and who vouches for them.
//
// [Contents] are the files of a plugin with their SHA-256. A packed plugin lists them
// in plugin.sum, and may carry a [Signature] of that list in plugin.sig; [Sums] is both
// as read from a folder. A [PrivateKey] signs, a [PublicKey] checks.
//
// A [Lock] is quoin.lock, the file of a plugin directory that lists which plugins may
// start, and as what files. [Lock.Pin] and [SignedPin] turn what vouches for a plugin
// into a [Pin], and [Pin.CopyPinned] copies the plugin's files while it compares them:
// what runs is what was checked, also if the folder changes in the meantime.
//
// Errors about a plugin that is not what it should be are an *[Error], a
// *[ChecksumError] or, for the lock itself, a *[LockError]; each says how the operator
// can accept what was found. Functions may be called from any goroutine. [WriteLock]
// does not exclude other writers: package install holds a lock file while it changes a
// directory.
package trust
