// Package pluginlint looks at a plugin's folder before a host does: it reports
// everything the loader would refuse, and what a model would stumble over.
//
// [Check] reads the manifest, starts the plugin for real in a data directory that
// is thrown away, asks it to describe itself, and makes the scope of each of its
// namespaces for a run that does not exist. No other user sees any of
// it, and it leaves nothing behind.
//
// A [Report] holds one [Problem] per mistake, each with the place, what is wrong
// there, and what to do. An error is what a host refuses; a warning is what it
// serves, but a model will use badly.
package pluginlint
