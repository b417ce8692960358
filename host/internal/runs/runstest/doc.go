// Package runstest helps tests of the run engine: it has guests without processes and what
// an engine is made of. Programs are functions in Go, and time is the test's own: in a
// bubble of testing/synctest a run of hours takes no time.
package runstest
