// Package manifest reads plugin.json, the file that makes a folder a plugin and says
// what the plugin is: its id and version, the protocol it speaks, its binaries, its
// further files, and the schema of its configuration.
//
// [Read] and [Parse] check the text as a whole and report every mistake at once, each
// as an *[Error] with the field, the problem and a fix. They accept the same texts as
// the JSON Schema that [JSONSchema] returns for editors. Whether the folder holds what
// its manifest names is for plugins.Find to say.
//
// Manifests and schemas are input of unknown origin. Reading one takes bounded memory,
// loads no other file and no address, and does not panic. A [Manifest] is a plain
// value: treat it as read-only once it is shared.
package manifest
