// Package configedit changes a configuration file and keeps what a person wrote into
// it. It is for the commands that add, change and remove entries.
//
// # Nouns
//
// A change is a function from the text of the file to another text. [Apply] makes it.
//
// # Lifecycle
//
// Apply locks the file, reads it, calls the change, checks that the result is a
// configuration and puts it in the place of the file in one step, with the same mode.
// A file that is not there is made, with its directory, for its owner alone. A link is
// followed: the file at its end is replaced.
//
// # Concurrency
//
// Two Apply of one file exclude each other, in any processes. An editor does not know
// the lock, so that a save of it in the same instant can win.
//
// # Failure
//
// An error means that the file is as it was. A result that is no configuration is not
// written: the error says where the mistake is.
//
// # Trust
//
// The file is the user's own; its size is bounded.
package configedit
