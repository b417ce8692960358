// Package journal keeps the record of one run in the store of runs, so that a host that is killed
// at any moment repeats nothing and loses nothing, and what the calls of the run have changed.
package journal
