// Package redact takes secrets out of what is written down about a run: the
// bodies of trajectory events and the debug logs of payloads and streams.
//
// A Redactor recognises a secret by the name of its property, by its JSON Schema
// (format "password", or writeOnly), and, inside text, by the shape of well-known
// credentials. What it finds becomes Mask; what is left is capped.
//
// It errs towards hiding: a schema too tangled to follow hides the value it is
// for, and a document that is not JSON or too large to look through is left out
// whole. It is a net, not a proof: a secret in prose, without a name or a known
// shape, passes.
//
// A Redactor is a value without state, safe for concurrent use.
package redact
