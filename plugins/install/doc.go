// Package install puts plugins into a plugin directory, replaces and removes them,
// and keeps the directory's quoin.lock true to what it does.
//
// [Install] and [Upgrade] work on a copy beside the place where the plugin shall
// be. There it is unpacked or copied, and its list of contents and its signature are
// verified. An archive that no trusted key has signed is refused here, unless the
// lock or the user vouches for it. Then it is started for real, in the way a host would start it, with its
// configuration and a data directory that is thrown away. Only then the lock is
// written and the copy moved into place, each in one step. Whatever fails before
// leaves the directory as it was; a host that looks in between finds the plugin
// that was there, or refuses a plugin that is not what the lock says.
//
// [Pin] accepts a plugin as it lies in its folder, [Remove] takes one away. What
// changes a directory holds a file lock meanwhile, so that commands that run at the
// same time wait for each other.
//
// The first lock of a directory takes in every plugin that is there: all of them
// started without a lock, and a lock starts only what it lists.
package install
