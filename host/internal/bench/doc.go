// Package bench measures Quoin as an embedder meets it: whole Execs and Waits
// against real guest workers and a real plugin process.
//
// Run it with make bench. It prints one table: for each case the median and the
// 99th percentile of one operation, and what it allocates in the host process.
// These figures are for comparison within one run; they are never part of a
// test's verdict. What they mean and what bounds them stands in
// docs/internals/performance.md.
package bench
