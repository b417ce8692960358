package plugins

import "time"

// restarts applies a RestartPolicy to one plugin. It is not safe for concurrent
// use.
type restarts struct {
	policy RestartPolicy
	recent []time.Time // restarts within the window, oldest first
	total  int
}

// next takes one restart from the budget. It returns how long to wait before
// it, and false if the budget is used up.
func (r *restarts) next(now time.Time) (time.Duration, bool) {
	for len(r.recent) > 0 && now.Sub(r.recent[0]) >= r.policy.Window {
		r.recent = r.recent[1:]
	}
	if len(r.recent) >= r.policy.Budget {
		return 0, false
	}
	delay := r.policy.FirstDelay
	for range r.recent {
		delay = min(2*delay, r.policy.MaxDelay)
	}
	r.recent = append(r.recent, now)
	r.total++
	return delay, true
}
