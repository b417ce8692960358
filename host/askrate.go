package host

import (
	"fmt"
	"time"
)

// How often a run may ask people: a person who is asked without end does not read
// what is asked.
const (
	questionSpan   = 10 * time.Second
	questionsASpan = 40
)

// askedTooOften denies a call because of the questions that its run has asked.
type askedTooOften struct {
	limit int64
	span  time.Duration // 0: the whole run
}

func (e *askedTooOften) Error() string {
	if e.span > 0 {
		return fmt.Sprintf("it needs an approval, and its run has asked for %d within %v, which is the limit; wait before you ask again", e.limit, e.span)
	}
	return fmt.Sprintf("it needs an approval, and its run has asked for %d, which is the limit (tools.codeMode.maxApprovals)", e.limit)
}

// mayAsk accounts for one more question of the run.
func (t *callTable) mayAsk(now time.Time, limit int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int64(t.counters.Approvals) >= limit {
		return &askedTooOften{limit: limit}
	}
	recent := t.questions[:0]
	for _, at := range t.questions {
		if now.Sub(at) < questionSpan {
			recent = append(recent, at)
		}
	}
	if t.questions = recent; len(recent) >= questionsASpan {
		return &askedTooOften{limit: questionsASpan, span: questionSpan}
	}
	t.questions = append(recent, now)
	return nil
}
