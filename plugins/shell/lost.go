package main

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/quoinhq/quoin/internal/shell/sessions"
	"github.com/quoinhq/quoin/sdk"
)

// record is what the storage has of a process in the background, for the time after the
// plugin has ended.
type record struct {
	// Owner is empty in what earlier versions have written, and then no one's.
	Owner  sessions.Owner `json:"session"`
	Result processResult  `json:"result"`
}

const (
	recordPrefix  = "process/"
	storageWait   = 5 * time.Second
	lostRunning   = "the shell plugin has stopped, which ends its processes"
	lostWithoutIt = "the shell plugin has stopped since, and the output is gone"
)

var sessionID = regexp.MustCompile(`^[a-z0-9]{8}-[a-z0-9]{10}$`)

// remember writes down a process in the background, and how it ends.
func (s *shell) remember(session *sessions.Session) {
	s.write(session)
	go func() { // ends with the process
		<-session.Done()
		st := session.State()
		// What a stopping plugin has ended is written down as it should be: as running.
		if s.table.Has(st.ID) && st.Exit.Reason != lostRunning {
			s.write(session)
		}
	}()
}

func (s *shell) write(session *sessions.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), storageWait)
	defer cancel()
	st := session.State()
	if err := s.storage.SetJSON(ctx, recordPrefix+st.ID, record{Owner: st.Spec.Owner, Result: stateOf(st)}); err != nil {
		s.logger.Warn("a process in the background is not written down: it is forgotten if the plugin stops", "process", st.ID, "error", err)
	}
}

// forget is called when a process is removed.
func (s *shell) forget(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), storageWait)
	defer cancel()
	if err := s.storage.Delete(ctx, recordPrefix+id); err != nil {
		s.logger.Warn("a process is not forgotten", "process", id, "error", err)
	}
}

// loadLost reads the processes of earlier processes of the plugin, and forgets those
// that are too old.
func (s *shell) loadLost(ctx context.Context) error {
	keys, err := s.storage.List(ctx, recordPrefix)
	if err != nil {
		return err
	}
	s.lost = map[string]record{}
	oldest := time.Now().Add(-time.Duration(s.settings.KeepSeconds) * time.Second).UnixMilli()
	for _, key := range keys {
		var r record
		found, err := s.storage.GetJSON(ctx, key, &r)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if r.Result.StartedAt+r.Result.DurationMs < oldest {
			if err := s.storage.Delete(ctx, key); err != nil {
				return err
			}
			continue
		}
		s.lost[r.Result.SessionID] = r.ended()
	}
	return nil
}

// ended is the record of a process after the plugin that had started it has stopped.
func (r record) ended() record {
	if r.Result.Status == sessions.Running {
		r.Result.Status, r.Result.Reason, r.Result.Tail = sessions.Killed, lostRunning, ""
	} else {
		r.Result.Reason = cmp.Or(r.Result.Reason, lostWithoutIt)
	}
	return r
}

// list is every process of o that there is something to say of.
func (s *shell) list(o sessions.Owner) []processResult {
	all := []processResult{}
	s.lostMu.Lock()
	for _, r := range s.lost {
		if r.Owner == o {
			all = append(all, r.Result)
		}
	}
	s.lostMu.Unlock()
	for _, st := range s.table.List(o) {
		all = append(all, stateOf(st))
	}
	slices.SortStableFunc(all, func(a, b processResult) int { return cmp.Compare(a.StartedAt, b.StartedAt) })
	return all
}

// actOnLost answers for a process that the plugin does not have, because it has stopped
// since it was started. unknown is the error if there is no such process.
func (s *shell) actOnLost(ctx context.Context, o sessions.Owner, in processInput, unknown error) (processAnswer, error) {
	r, found := s.findLost(ctx, o, in.SessionID)
	if !found {
		return processAnswer{}, explain(unknown)
	}
	switch in.Action {
	case "status", "poll", "log", "kill":
	case "clear", "remove":
		s.lostMu.Lock()
		delete(s.lost, in.SessionID)
		s.lostMu.Unlock()
		s.forget(in.SessionID)
	default:
		return processAnswer{}, sdk.Errorf(codeSession, "process %s takes no input: %s", in.SessionID, r.Result.Reason)
	}
	return processAnswer{processResult: r.Result}, nil
}

// findLost finds a process of another process of the plugin. Those that were started
// after this one has read the storage are read now.
func (s *shell) findLost(ctx context.Context, o sessions.Owner, id string) (record, bool) {
	if !sessionID.MatchString(id) || s.table.Made(id) {
		return record{}, false
	}
	s.lostMu.Lock()
	r, found := s.lost[id]
	s.lostMu.Unlock()
	if !found {
		var err error
		if found, err = s.storage.GetJSON(ctx, recordPrefix+id, &r); err != nil {
			s.logger.Warn("the record of a process cannot be read", "process", id, "error", err)
		}
		r = r.ended()
	}
	return r, found && r.Owner == o
}
