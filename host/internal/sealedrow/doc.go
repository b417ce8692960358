// Package sealedrow makes and reads the rows in which a database keeps runs and the effects of
// their calls. The drivers of all databases write the same rows, so that rows can be copied
// from one database to another as they are.
//
// A row is hostile until its seal has verified: an HMAC by the key of the installation, which
// binds a row to its run, its kind and the row before. Who can write to the database and has no
// key can put an old state of a run back, and no other state. Rows are sealed, not encrypted.
//
// A [Sealer] is safe for concurrent use.
package sealedrow
