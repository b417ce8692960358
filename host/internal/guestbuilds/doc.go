// Package guestbuilds keeps the executables of guest workers, so that a suspended run
// continues with the build that suspended it after that build was replaced.
//
// # Nouns
//
// A build is one executable of a guest worker. Its id is the SHA-256 of its bytes, which
// records of suspended runs name. A [Dir] is a directory with one file for each build.
//
// # Lifecycle
//
// A host puts the build of a run there before it stores the run (Keep), and says once a
// minute which builds it has in use (Keep again). Collect removes builds that no stored run
// needs and that no host has used for a while. One directory belongs to one store of runs:
// Collect asks that store alone.
//
// # Concurrency
//
// Several processes use one directory at the same time. A lock on a file in it keeps
// Collect from removing what a host is about to need. Collect has the lock only while it
// removes; what was kept while it asked which builds are needed stays.
//
// # Failure
//
// A file is there whole or not at all, also after a power failure. A host that cannot keep
// its build says so and continues: after an upgrade its runs are replayed.
//
// # Trust
//
// Hosts execute what is in the directory, so no other user may be able to write to it:
// [Open] refuses one where that is not so. The id in a record is sealed, and a worker starts
// only from a file with bytes that have that id.
package guestbuilds
