// Package upkeep looks after suspended runs: it goes on with those that no caller waits for, lets
// go of those that other processes have, and ends what belonged to processes that are gone.
package upkeep
