// Package drive has the guest of a run take its turns: it leases a worker, delivers answers, admits
// calls, and suspends, restores and ends the run.
package drive
