// Package replay runs a suspended program again on another build of the guest: a Log has what
// the program got and what it asked for, a Replay checks that the other build takes the same path.
package replay
