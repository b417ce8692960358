package trust

import (
	"fmt"

	"github.com/quoinhq/quoin/plugins/manifest"
)

// Error: a plugin is not what its lock or its signature says, or there is
// nothing that vouches for it. It refuses the plugin.
type Error struct {
	PluginID string
	// What is the thing in question: "plugin.json", "the binary for linux/amd64".
	What string
	// By is what vouches: "quoin.lock", "plugin.sum", "the trusted keys".
	By string
	// Want is the checksum, version or key expected; empty if nothing is known.
	Want string
	// Got is what was found; empty if nothing was.
	Got string
	// Accept says how to accept what was found, as a command where there is one.
	Accept string
}

// Error names what was expected, what was found, and how to accept it.
func (e *Error) Error() string {
	got, want := e.Got, e.Want
	if got == "" {
		got = "missing"
	}
	if want == "" {
		want = "nothing of it"
	}
	return fmt.Sprintf("%s of plugin %s is %s, but %s says %s; %s", e.What, e.PluginID, got, e.By, want, e.Accept)
}

// ChecksumError says that a plugin's binary is not the one its own manifest pins: the
// plugin was built again without its manifest, or is damaged.
type ChecksumError struct {
	Path      string
	Want, Got string // SHA-256 in hex
}

// Error names both checksums and the way out.
func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%s has the checksum %s, but %s pins %s for %s; reinstall the plugin, or pin the new checksum if you trust this binary",
		e.Path, e.Got, manifest.Name, e.Want, manifest.HostPlatform())
}

// acceptByPin is how to accept the files of a plugin as they are. dir is its plugin
// directory; empty if that is not known.
func acceptByPin(dir, id string) string {
	command := "quoin plugin pin " + id
	if dir != "" {
		command += " --plugins " + dir
	}
	return "if you trust what is there, run: " + command
}

// sha256Text is a checksum as locks and messages have it.
func sha256Text(hex string) string {
	if hex == "" {
		return ""
	}
	return "sha256:" + hex
}
