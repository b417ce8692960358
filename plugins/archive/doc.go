// Package archive packs plugins into single files and unpacks them.
//
// An archive is a gzipped tar with one folder, named after the plugin, in which
// lie plugin.json, the binaries, the files that the manifest names, plugin.sum with
// the SHA-256 of each of those and, if it was signed, plugin.sig with an ed25519
// signature of plugin.sum. Once unpacked, both say who packed the plugin and
// whether it still is what was packed; sha256sum -c plugin.sum reads the one.
//
// [Pack] makes equal archives of equal plugins: entries are sorted, times and
// owners left out, modes the same for everybody, and nothing but what the manifest
// names goes in. [Unpack] takes its input for hostile. It accepts exactly what Pack
// makes: regular files at plain paths below one folder, each once, within limits
// that hold whatever the compressed bytes claim, and with the contents that
// plugin.sum lists. It writes into a folder that it was given, never outside, and
// leaves the judgement of keys to its caller.
package archive
