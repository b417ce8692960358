// Package fault says why runs fail and calls reject: a run fails with a codemode.Error, a call
// rejects in the guest with a Rejection.
package fault
