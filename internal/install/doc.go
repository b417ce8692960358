// Package install packs plugins into archives, and installs, upgrades, pins and
// removes them in a plugin directory. It keeps the directory's quoin.lock true.
//
// # Directories
//
// [Install] and [Upgrade] work on a copy in the plugin directory. They unpack or copy
// the plugin there and verify its list of contents and its signature. An archive that no
// trusted key has signed is refused here, unless the lock or the user vouches for it.
// Then they start the plugin as a host would, with its configuration and a temporary
// data directory. Only then they write the lock and move the copy into place, each in
// one step. If anything fails before, the directory is as it was. A host that looks in
// between finds the plugin that was there, or refuses one that is not what the lock says.
//
// [Pin] accepts a plugin as it is in its folder, [Remove] takes one away. Every function
// that changes a directory holds a lock file while it does: a second command fails with
// [ErrBusy].
//
// The first lock of a directory takes in every plugin that is there: all of them
// started without a lock, and a lock starts only what it lists.
//
// # Archives
//
// An archive is a gzipped tar with one folder, named after the plugin. The folder has
// plugin.json, the binaries, the files that the manifest names, and plugin.sum with the
// SHA-256 of each of them, which sha256sum -c reads too. If the plugin was signed, it
// also has plugin.sig, an ed25519 signature of plugin.sum.
//
// [Pack] makes equal archives of equal plugins: entries are sorted, times and owners are
// left out, modes are the same, and nothing but what the manifest names goes in. An
// archive that is read is input of unknown origin: regular files at plain paths below
// one folder, each once, within limits that hold whatever the compressed bytes claim,
// and with the contents that plugin.sum lists. Nothing is written outside the folder
// that is made for it.
package install
