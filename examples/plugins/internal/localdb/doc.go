// Package localdb is how the example plugins keep data: one SQLite file in
// the plugin's data directory, opened with the settings a small service wants.
//
// The nouns. A [DB] is one open file. A migration is one SQL text; the file
// remembers in user_version how many have been applied. A receipt is the
// remembered result of one call, found again by its idempotency key.
//
// Concurrency. Any number of [DB.Read] calls run at once, each on its own
// snapshot. [DB.Write] calls run one at a time: the file has a single writing
// connection, and every write transaction takes the write lock when it starts,
// so it never fails halfway because another process wrote first. Another process
// that holds the lock is waited for up to five seconds.
//
// Failure. A function given to Read or Write that returns an error, or panics,
// leaves the file as it was. Opening a file written by a newer version of the
// plugin is refused rather than guessed at.
//
// SQLite is modernc.org/sqlite, a translation to Go: no C compiler is needed.
package localdb
