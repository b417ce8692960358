// Package bench measures Quoin as an embedder meets it: whole Execs and Waits
// against real guest workers and a real plugin process.
//
// Run it with make bench. It prints one table: for each case the median and the
// 99th percentile of one operation, in milliseconds. These figures are for
// comparison within one run; they are never part of a test's verdict.
package bench
