// Package sessions keeps the processes that the shell plugin has started, with what
// they have written.
//
// # Nouns
//
// A [Table] has the sessions of all owners. A [Session] is one process with its output,
// from its start until it is removed. An [Owner] is an agent's session with the host:
// it sees its own sessions and no others. A [State] is what a session looks like at one
// moment. Output is addressed by positions: the number of bytes that the process had
// written before.
//
// # Lifecycle
//
// [Table.Start] starts a process. It ends by itself, by its timeout, by [Session.Kill],
// by [Table.Close], or when the plugin dies. An ended session can be looked at until it is
// removed, is too old, or makes room for another.
//
// # Concurrency
//
// All methods may be called from any goroutine. Each session has one goroutine that
// reads the output; it ends with the process. Input is written by one caller at a time.
//
// # Failure
//
// Errors are *[Error] with a code. A start that fails leaves nothing.
//
// # Trust
//
// Output is hostile: it may be endless, binary, and full of control sequences. A bounded
// head and tail of it are kept; texts are valid UTF-8, without control
// characters unless the caller asks for them.
package sessions
