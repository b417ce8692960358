// Package hostileworker is a guest worker as it is after a program has taken it
// over: it speaks the wire protocol and misbehaves in one way, which has a name.
// It is for tests alone.
//
// A test binary calls ServeIfHostile first thing in TestMain, and makes the
// executable of a hostile worker with Executable. A host that is given its path
// as the guest, and the isolation policy "best-effort" because a hostile worker
// does not seal itself, runs it like any other worker. The program of a cell says
// what the worker does: a mode and its arguments, such as
//
//	cpu 18446744073709551615
//
// An executable that is made for one mode does what that says whatever the
// program is. The names are in modes.go. After its mode the worker does what it is
// asked to, with the least that is valid: a program returns 1, an image is one
// byte.
package hostileworker
