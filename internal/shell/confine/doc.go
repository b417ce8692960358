// Package confine starts commands in a sandbox, which is the boundary of the shell
// plugin: what a command may do does not depend on how it is written.
//
// # Nouns
//
// A [Launcher] starts commands as its [Options] say. For each it starts an init: the
// executable itself, once more, as the first process of new namespaces ([Main]). The
// init builds a private root, gives up what it may do, layer after layer, and reports
// the layers; the launcher checks the report against what the kernel says, and only
// then lets it start the command. [Launcher.Report] tells what this machine has.
//
// # What a command sees
//
// The programs and libraries of the system, read-only; a few files of /etc; the
// directories of Options; a /tmp and a home of its own, which end with it; its own
// /proc; a /dev of six devices and its own terminals. The paths of Options.Deny and the
// places where programs keep credentials are hidden even inside of what it sees. The
// network is a loopback of its own, with the proxy of Options on it if there is one.
//
// # Users
//
// A command runs as the user 1000 of its user namespace. To the machine that is the
// user of the plugin, or, if the plugin is root, the user 65534: writable directories
// are then mounted so that their owner is that user, and files keep their owner.
//
// # Lifecycle
//
// The end of the first process ends the sandbox, and so do Kill, the death of the init
// and the death of the plugin: the kernel kills all processes of the pid namespace
// with its init, and the init ends with its connection to the plugin.
//
// # Concurrency
//
// A Launcher may be used from any goroutine; a Process as its interface says.
//
// # Failure and trust
//
// The command is hostile from its first instruction. The init runs no byte of it, and
// what it tells about the end of the command is read as hostile input. A layer that
// cannot be had ends the start with an error, or, without Options.Required, is reported
// as off, but for those without which there is no sandbox at all.
package confine
