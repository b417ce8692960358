// Package machine makes of a configuration what commands on this machine get: the sandbox
// with its network, and the environment. The shell plugin and a node do the same with it.
//
// [Sandbox] returns a launcher, which its caller closes. [Environment] keeps no state. The
// configuration is the operator's, and has been checked; variables of a call have been
// judged by command.CheckEnv.
package machine
