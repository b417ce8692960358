package runstore

import "errors"

// The reasons for which a store does not return a record. Match with errors.Is.
var (
	ErrNotFound = errors.New("no such suspended run")
	ErrExpired  = errors.New("suspended run has expired")
	ErrEnded    = errors.New("the run has ended, and its result waits")
	ErrCorrupt  = errors.New("suspended run is damaged or was not written by this installation")
	ErrFormat   = errors.New("suspended run has a format this version does not read")
	ErrClaimed  = errors.New("suspended run is claimed by another holder")
	ErrFenced   = errors.New("the run belongs to another host now")
	ErrFull     = errors.New("too many suspended runs")
	ErrTooLarge = errors.New("suspended run is too large to be stored")
	// ErrCallsLost is an answer to Claim.PutCalls.
	ErrCallsLost = errors.New("the store has lost what it was told of calls of the run")
)
