// Package postgrestest starts private PostgreSQL servers for tests, for the chaos run
// and for benchmarks. It is for the tests of this module.
//
// A [Server] has a data directory, a Unix socket and a loopback port of its own, and
// a password that nothing else knows. Its programs are the programs of this machine;
// [Missing] says what is not installed. They refuse to run as root, so root runs them
// as the user 65534. A server can be stopped in every way, started again, and given a
// streaming standby that is promoted.
//
// [Database] is what most tests need: an empty database on a server that all tests of
// the process share; [Filled] is one that has tables. Both skip the test unless
// QUOIN_TEST_POSTGRES is set, which make test-postgres does. That target runs the tests
// with Postgres in their names, so a test by another name fails here: it would never run.
//
// Everything lies in one temporary folder for each process. A shell of its own holds
// a pipe to the process; when the process ends, in whichever way, the shell stops
// what still runs and removes the folder.
//
// The servers of a process may be used by several goroutines; one [Server] is
// stopped and started by one goroutine at a time.
package postgrestest
