// Package guestserver is the child side of the guest runtime: the program that
// runs inside a guest worker process.
//
// A worker reads frames from one connection. It answers Hello by building its
// engine, sealing the process and saying Ready; after that every message is
// about the one guest it may hold. All hostile parsing happens here, behind the
// seal: TypeScript is turned into JavaScript, module access is refused by
// syntax, shell commands are recognised, and the positions in errors and stacks
// are mapped back to the source as it was submitted.
//
// # Failures
//
// What the guest did wrong is a Report with status failed. What the worker could
// not do is a Fault. What the host said wrongly ends the process with
// wire.ExitProtocol, a bug in the worker with wire.ExitPanic, and the end of the
// connection with wire.ExitDone.
//
// # Use
//
// ServeIfWorker is the first statement of main in cmd/quoin-guest, and may be
// the first statement of any program that embeds a host and wants to be its own
// worker. Serve runs the same loop over any connection.
package guestserver
