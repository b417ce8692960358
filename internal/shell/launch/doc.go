// Package launch starts commands on the machine itself, next to the caller and as its
// user: the host gateway of the shell plugin.
//
// # Nouns
//
// Each command has a supervisor: a process of the caller's own executable, which starts
// the command as its child and stands above everything that the command starts. Orphans
// become children of the supervisor, so no descendant leaves the tree by a session of
// its own or by forking twice. The streams connect the caller and the command; the
// supervisor only holds them open.
//
// # Lifecycle
//
// [Main] is the first call of a program that starts commands: it is the supervisor when
// the program was started as one. [New] then gives a Launcher. The end of the first
// process ends the tree, and so does [execution.Process.Kill]. A tree is ended by
// cgroup.kill where the caller may create a control group, and in any case member by
// member: all are stopped, so that they cannot fork, and then killed, until nothing is
// left. The supervisor reports the exit status after that, and ends itself.
//
// # Concurrency
//
// The supervisor is one process for each command; the caller has one goroutine for each.
// A process's methods may be called from any goroutine, Read from one.
//
// # Failure
//
// The supervisor has one end of a socket. When the caller has ended, even by SIGKILL, the
// socket ends, and so does the tree. When the supervisor is killed, the caller ends the
// control group, or without one the session of the command, and Wait returns an error.
// A process of another user, as behind sudo, can only be asked to end by its terminal
// or by its streams; Wait returns an error that says how many are left.
//
// # Trust
//
// A command has every right of its user. It can ask another service to run something
// (cron, systemd-run, docker), and it can end the supervisor and the caller. The
// boundary for a command that is not trusted is the sandbox, not this package.
package launch
