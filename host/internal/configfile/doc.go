// Package configfile reads the configuration of a host from a JSON5 file, the
// environment and flags.
//
// [Load] merges the sources: a flag overrides an environment variable, which
// overrides the file, which overrides the default. [File.Config] is the
// [host.Config] that they describe. Each mistake is reported with its line and
// column; all mistakes come in one [Error].
//
// The package also describes the file: [Schema] is its JSON Schema, and [Reference]
// the table of its fields in docs/reference/configuration.md. Both come from the
// table of fields that reads it, so that they cannot differ from it.
//
// A configuration never contains a secret. A field that needs one names a file or an
// environment variable; see [File].
package configfile
