// Package upkeep looks after suspended runs: it resumes those that no caller waits for,
// releases those that other processes have, and ends what belonged to processes that are
// gone.
package upkeep
