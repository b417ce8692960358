// Package guestrt is the parent side of the guest runtime: it starts guest
// worker processes, lends them to runs, watches the clock for them and says how
// each of them ended. It never links the JavaScript engine.
//
// # Nouns
//
// A process is one sealed child that holds at most one guest. A Pool keeps some
// of them warm. A Worker is a lease on a process: Acquire gives it out, Release
// ends it. A WorkerError is the error of everything that ended without a report,
// in the words of the result contract.
//
//	pool, err := guestrt.NewPool(ctx, guestrt.Config{})
//	w, err := pool.Acquire(ctx, session, cell.Limits)
//	report, err := w.Start(ctx, cell, files, deadline)
//	report, err = w.Turn(ctx, settlements, deadline)
//	pool.Release(w)
//	err = pool.Close()
//
// # Lifecycle
//
// A process serves one session only. When its lease ends cleanly (no failed
// report, no WorkerError) it forgets its guest and waits for the next lease of the
// same session, up to Config.Prepared processes in all; otherwise it is killed.
// Warm processes are started in the background, Config.Prepared of them and more
// while there is demand. Close ends every process and returns when all are reaped. Should the host
// process die by force, the kernel kills its workers.
//
// # Time
//
// The guest is asked to stop 50 ms before the deadline and usually answers with a
// report with the error code "timeout". At the deadline the process is killed
// whatever it does, and the call returns an WorkerError of that code. A cancelled
// context kills at once.
//
// # Concurrency
//
// A Pool is safe for concurrent use; Acquire and Release take no lock of the pool
// when a process is there or has a place. The calls of one Worker are serialised;
// Kill may be called at any time and interrupts the call in flight. FileFunc
// runs on the goroutine of the call that the guest is in.
//
// # Failure
//
// Start, Turn, Snapshot, Restore and Acquire fail with an *WorkerError only. What
// the guest did wrong is not an error but a report with status failed. After an
// WorkerError the worker is gone and every further call returns the same WorkerError.
//
// # Isolation
//
// Every process is sealed by package sandbox before it reads a program. Unless
// Config.Isolation says IsolationBestEffort, one that lacks a layer to rely on is
// refused with an WorkerError of code runtime_unavailable that names the layer, the
// reason and the remedy. Inspect looks at one process for people.
//
// # Trust
//
// The worker is hostile: its messages are checked by package wire, a message
// that breaks the protocol ends the process, and its log lines are capped. What
// valid reports claim stays the guest's claim.
package guestrt
