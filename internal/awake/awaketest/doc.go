// Package awaketest has a process stand still, for tests of what other processes and its
// own timers make of that.
package awaketest
