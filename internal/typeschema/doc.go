// Package typeschema infers the JSON Schemas of tools from Go types, for plugins and for
// tools of an embedder alike, and encodes values as those schemas say.
//
// [Input] and [Output] infer a schema: what encoding/json writes, refined by the field
// tags jsonschema, enum, min, max and default. [Encode] writes a value so that it fits
// the schema of its type, and [Defaults] fills in what an input leaves out.
//
// The functions keep nothing and may be called at any time. Types are the program's own:
// a mistake in one is its author's, and is an error that names the field.
package typeschema
