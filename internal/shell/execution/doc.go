// Package execution has the types that the parts of the shell plugin share: a command
// that may run, the process that it has become, and what starts one on a host.
//
// # Nouns
//
// A [Command] is a program with its arguments, directory and environment; that it may
// run has been decided before. A [Launcher] starts commands on one host: next to the
// plugin (internal/shell/launch), in a sandbox (internal/shell/confine) or on another
// machine (internal/shell/node). A [Process] is a command that runs, with everything
// that it has started.
//
// # Trust
//
// What a process writes is hostile. A process may ignore every signal but the last,
// leave its group and its session, and hold its streams open; [Process.Kill] ends all
// of it nevertheless.
package execution
