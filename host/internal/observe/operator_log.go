package observe

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// How many lines of one message the log takes: a burst, then a steady rate.
const (
	logBurst     = 50
	logPerSecond = 10
)

// operatorLog writes what an operator follows at the level info: runs and calls that
// fail, limits, approvals. It names ids and codes. It never has programs, inputs,
// outputs or messages of failures, which belong to the trajectory.
//
// Programs decide how often they fail, so each message has a rate of its own. The
// first line after a gap says how many were omitted.
type operatorLog struct {
	log *slog.Logger

	mu       sync.Mutex
	messages map[string]*logRate
}

type logRate struct {
	spent   float64 // of the burst
	newest  time.Time
	omitted int
}

// line writes one line, unless its message has used up its rate.
func (l *operatorLog) line(message string, args ...any) {
	if !l.log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	omitted, ok := l.admit(message, time.Now())
	if !ok {
		return
	}
	if omitted > 0 {
		args = append(args, "omitted", omitted)
	}
	l.log.Info(message, args...)
}

// admit reports whether the message may be logged at that time, and how many lines of
// the same message were omitted before it.
func (l *operatorLog) admit(message string, now time.Time) (omitted int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.messages[message]
	if r == nil {
		r = &logRate{}
		if l.messages == nil {
			l.messages = map[string]*logRate{}
		}
		l.messages[message] = r
	}
	r.spent = max(r.spent-now.Sub(r.newest).Seconds()*logPerSecond, 0)
	r.newest = now
	if r.spent > logBurst-1 {
		r.omitted++
		return 0, false
	}
	r.spent++
	omitted, r.omitted = r.omitted, 0
	return omitted, true
}

// runFailed logs the end of a run that did not complete.
func (l *operatorLog) runFailed(id string, s codemode.Session, f *codemode.Error) {
	args := append(logSession([]any{"run", id}, s.AgentID, s.SessionKey, s.SessionID), "code", codeOf(f.Code, f.Reason), "phase", f.Phase)
	if f.Reason != "" {
		args = append(args, "reason", f.Reason)
	}
	if limit := limitOf(f); limit != "" {
		args = append(args, "limit", limit)
	}
	l.line("run failed", args...)
}

// refused logs an exec or wait that neither made nor resumed a run.
func (l *operatorLog) refused(tool string, s codemode.Session, res *codemode.Result) {
	args := append(logSession([]any{"tool", tool}, s.AgentID, s.SessionKey, s.SessionID), "code", res.Code)
	if res.Reason != "" {
		args = append(args, "reason", res.Reason)
	}
	l.line("call of a model refused", args...)
}

// callFailed logs a nested call that was rejected, unless its tool does not exist.
func (l *operatorLog) callFailed(t *Call) {
	if t.ToolID == "" {
		return
	}
	args := []any{"run", t.RunID, "call", t.CallID, "tool", t.ToolID, "code", t.Code, "took", t.Duration.Round(time.Microsecond)}
	if t.EffectStatus != "" {
		args = append(args, "effectStatus", t.EffectStatus)
	}
	l.line("tool call failed", args...)
}

// limitHit logs a limit that did not end its run.
func (l *operatorLog) limitHit(run, limit string) {
	l.line("limit hit", "run", run, "limit", limit)
}

// approval logs a call that starts to wait for a decision, or its decision.
func (l *operatorLog) approval(message string, r *Run, a Approval, more ...any) {
	args := []any{"approval", a.ID, "run", r.id, "tool", a.ToolID}
	args = logSession(args, r.session.AgentID, r.session.SessionKey, r.session.SessionID)
	l.line(message, append(args, more...)...)
}

// logSession adds the parts of the caller that are known.
func logSession(args []any, agent, key, id string) []any {
	for _, a := range []struct{ key, value string }{{"agent", agent}, {"sessionKey", key}, {"session", id}} {
		if a.value != "" {
			args = append(args, a.key, a.value)
		}
	}
	return args
}
