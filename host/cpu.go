package host

import "time"

// cpuGrace is what a turn may take beyond the run's budget before its worker is
// stopped: a turn's CPU time is known only when it ends.
const cpuGrace = 100 * time.Millisecond

// cpuShare is how much longer than its CPU budget a turn may take: a machine that
// does more than one thing gives it a part of a processor.
const cpuShare = 8

// turnDeadline is when the next turn must end: at the leg's deadline, or when it
// must have used up the run's CPU budget.
func (l *leg) turnDeadline() time.Time {
	left := l.run.cpuLeft()
	if end := time.Now().Add(cpuShare*left + cpuGrace); end.Before(l.deadline) {
		return end
	}
	return l.deadline
}

// cpuLeft is what is left of the run's CPU budget, which searches in the host count in.
func (r *run) cpuLeft() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, r.settings.CPUBudget-time.Duration(int64(r.counters.CPUMicros)+r.counters.QueryMicros)*time.Microsecond)
}

// overBudget is the failure of a run that has used up its CPU budget, or f.
func (r *run) overBudget(f *failure) *failure {
	if r.cpuLeft() > 0 || f != nil && f.Code != CodeTimeout {
		return f
	}
	return failf(CodeTimeout, "", PhaseGuest, "code mode CPU budget exceeded: the run has used %s of processor time, waits and searches included (tools.codeMode.cpuBudgetMs).", r.settings.CPUBudget)
}
