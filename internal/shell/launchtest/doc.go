// Package launchtest is the conformance suite of Launchers: what every host of the shell
// plugin must do, whether it is this machine, a sandbox or another machine. A package
// with a Launcher calls [Run] in one of its tests.
//
// # Nouns
//
// A [Host] is the Launcher with a directory that its commands share with the test. The
// cases run small scripts of /bin/sh. Whether anything is left of a process shows in a
// named pipe in that directory: all descendants have it open for writing, and it ends
// when the last of them has. So the suite need not see the host's processes.
//
// # Failure
//
// A case kills its process if it hangs for two minutes, and fails. Long cases run
// without -short.
package launchtest
