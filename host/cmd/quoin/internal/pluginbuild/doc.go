// Package pluginbuild turns the folder that the author of a plugin works in into
// folders that a host can load.
//
// A [Folder] has a manifest, and either something to build, Go sources or a command
// of the author's, or nothing. [Folder.Build] makes a generation: a folder of its own,
// named by the plugin's id, with the manifest as it is now, what was built, and
// links to everything else. A generation is not changed by later builds, so that a
// process of it can be started again while the author works on; and the author's folder stays
// as it is.
//
// # dev.json5
//
// A file of that name next to the manifest says what cannot be guessed. It is for
// the author's tools alone, and no host reads it:
//
//	{
//	  build: ["make", "weather"],     // run in the folder; makes the manifest's command
//	  ignore: ["dist"],               // what that leaves behind
//	  config: { units: "metric" },    // the plugin's configuration in development
//	  secrets: { token: "env:TOKEN" }, // where its secrets are in development
//	}
//
// # Go
//
// A folder with Go files is built by the go command in PATH, without cgo unless
// CGO_ENABLED says otherwise, and without paths and revisions in the binary, so that
// what is common to all plugins comes from one build cache.
package pluginbuild
