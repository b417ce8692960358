// Package runstoretest has the tests that every store of suspended runs passes, for
// authors of drivers.
//
// # Nouns
//
// A Driver says how to open the stores of one kind, and how to make them fail. A host is
// one of several stores that share what they keep, as processes on several machines do.
//
// # Lifecycle
//
// A test of the driver calls Run once. Each test opens stores of its own.
//
// # Concurrency
//
// Some tests use a store from many goroutines. The tests of one Run follow each other.
//
// # Failure and trust
//
// A failed check fails the test that called Run. The driver is trusted.
package runstoretest
