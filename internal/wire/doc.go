// Package wire is the language a host and its guest workers speak: plain data
// types and the framed binary codec that carries them over two pipes.
//
// # Nouns
//
// A Message is one thing said: Hello, Start, Turn, Snapshot, Restore, FileData
// and Reset by the host; Ready, Report, NeedFile, Image, Restored and Fault by
// the worker. A frame is a length (u32, little endian), a type byte and at most
// MaxFrame payload bytes; a message is one frame, or several, with the
// continuation bit in the type bytes of all but the last. A Conn sends and
// receives messages.
//
// # Order
//
// The conversation is half duplex. The host says Hello once and the worker
// answers Ready. From then on every host message has exactly one answer: Start
// and Turn a Report, Snapshot an Image, Restore a Restored, Reset a Ready; any
// of them may be answered by a Fault instead. Between a Start, Turn or Restore
// and its answer the worker may ask NeedFile any number of times and blocks
// until the host has said FileData.
//
// # Trust
//
// The host treats everything a worker says as hostile: Receive allocates no
// more than arrives, every list and string is capped, JSON is checked to be
// JSON, enumerations to be known, request ids to ascend. A message that breaks a
// rule is an error, after which the connection must not be used again. What
// valid messages claim (values, outputs, arguments, CPU time) stays the guest's
// claim.
//
// # What it does not do
//
// It starts no process and opens no pipe; see package guestrt for the parent
// and package guestserver for the child.
package wire
