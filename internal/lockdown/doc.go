// Package lockdown has the steps by which a process gives up what it may do: a system
// call filter, Landlock, capabilities, limits. Which of them a process takes, in which
// order and with which rules, is the business of the packages that confine one kind
// of process: internal/sandbox the guest workers, internal/shell/confine the commands
// of the shell plugin.
//
// Each step is for good. With [EveryThread] it holds for every thread of the process,
// unless it returns [ErrCgo]: a process built with cgo may have threads that the Go
// runtime does not know. A build with the tag quickjs_c takes the threads from the
// kernel instead, and [OpenThreads] lets it do so after it has given up its files. With
// [ThisThread] a step holds for what the thread starts.
// [Status] reads what the kernel tells others about a process, to check from outside.
//
// Only Linux has these steps; the package is empty elsewhere.
package lockdown
