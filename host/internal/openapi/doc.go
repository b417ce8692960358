// Package openapi makes tools of the operations that an OpenAPI document describes, and
// performs their requests. It is for package mcp, which offers them as the tools of a
// server.
//
// # Nouns
//
// A [Document] is what was read of one description, 3.0 or newer, in JSON or YAML. An
// [Operation] is one method of one path: a name, a schema of its input, in which all
// parameters and the body stand, and one of what it answers. A [Server] is where
// requests go: an origin and a path below it.
//
// # Lifecycle
//
// [Load] reads a Document, [Parse] one that is there already as text, and [Document.At]
// makes a Server of it. Nothing of it needs to be closed.
//
// # Concurrency
//
// A Document is never changed after At. Calls of a Server run side by side.
//
// # Failure
//
// An operation that cannot be offered is left out with a reason, and the others stay. No
// operation is offered without a parameter or a body that it may need: a part that cannot
// be read leaves the operation out.
// Every answer that is not 2xx is a [StatusError].
//
// # Trust
//
// Documents are hostile. Size, nesting and number of values are bounded before a document is
// decoded; names and schemas again afterwards. References of a document at an address do not
// lead out of it; references of a file lead to files below its directory. Requests go to the
// origin of the Server and to no other, whatever the document says: neither servers in it,
// nor paths, nor parameters, nor redirects change that. A parameter cannot leave its place
// in the address. Answers are bounded before they are decoded.
//
// # What it does not do
//
// It knows nothing of credentials: the client that it is given adds them.
package openapi
