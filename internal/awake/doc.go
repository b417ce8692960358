// Package awake bounds how long this process waits for another one, by the time in which
// this process ran.
//
// A process stands still when it is stopped by a signal, when its machine is suspended,
// or when it gets no processor. The other process still runs then, and its answer may be
// there when this process wakes up. A timer is over by then, too, and whichever is looked
// at first decides. So a wait is looked at each quarter of a second. Where a look comes
// more than that too late, this process stood still: the delay does not count, and the
// wait is not over before another look has come in time.
//
// Such a wait judges the other process. What was promised to a client by the clock, such
// as the end of a lease or of a caller's time, needs no package of its own.
package awake
