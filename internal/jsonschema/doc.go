// Package jsonschema reads JSON Schemas of strangers as trees: members in the order
// in which they were written, references resolved within the document, and all work
// bounded. It is for code that renders, searches or inspects schemas. To validate
// values, compile the schema with a validator instead.
//
//	doc := jsonschema.Parse(tool.Parameters)
//	for _, p := range doc.Root().Get("properties").Fields() {
//		...
//	}
//
// A [Node] is one JSON value, a [Document] the tree of a whole schema. Every method
// of a *Node accepts nil and anything that stands where a schema should, so that
// you can walk a schema without checks: what is not there reads as nothing.
//
// # Trust
//
// [Parse] reads at most 512 KiB, 20,000 values and 100 levels. A tree has no cycles,
// but its references can: bound your own walk when you follow them.
//
// # Concurrency
//
// Trees are never changed after Parse and are safe for concurrent use.
package jsonschema
