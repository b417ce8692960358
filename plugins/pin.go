package plugins

// Pin is what the files of a plugin have to be at a start. A plugin with a Pin is
// copied into a private folder while it is hashed, and the copy is what runs: what
// is started is what was checked.
type Pin struct {
	// Manifest, Binary and Files are SHA-256 sums in hex: of plugin.json, of the
	// binary for this platform, and of the list of the files that the manifest
	// names beside them. Files is empty when there are none.
	Manifest, Binary, Files string
}
