package quota

import (
	"fmt"
	"slices"
	"sync"
)

// Owner is who takes something. Agent may be shared by sessions.
type Owner struct{ Agent, Session string }

// Shares are the percentages of a whole that one session and one agent may have, at
// least 1 unit. What is not from 1 to 99 means all of it.
type Shares struct{ Session, Agent int }

// Meter counts what is taken of one thing. It is safe for concurrent use.
type Meter struct {
	name, what, setting string
	shares              Shares
	total               int64
	session, agent      int64 // of total

	mu       sync.Mutex
	used     int64
	sessions map[string]int64
	agents   map[string]int64
	waiting  map[string][]*Ticket // by session, first come first
	turns    []string             // the sessions of waiting, in the order of their turns
}

// NewMeter meters total units. Name is a word for metrics, what says in the plural what
// the units are, and setting where their number comes from, if from any; both are for messages.
func NewMeter(name, what, setting string, total int64, s Shares) *Meter {
	return &Meter{
		name: name, what: what, setting: setting, shares: s, total: total, session: share(total, s.Session), agent: share(total, s.Agent),
		sessions: map[string]int64{}, agents: map[string]int64{}, waiting: map[string][]*Ticket{},
	}
}

// share is that percentage of total, rounded up.
func share(total int64, percent int) int64 {
	if percent < 1 || percent > 99 {
		return total
	}
	return max(1, total/100*int64(percent)+(total%100*int64(percent)+99)/100)
}

// Take takes n units, or says why not and takes nothing.
func (m *Meter) Take(o Owner, n int64) *Denied {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.denied(o, n); d != nil {
		return d
	}
	m.add(o, n)
	return nil
}

// Force takes n units whatever the limits say.
func (m *Meter) Force(o Owner, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(o, n)
}

// Give gives n units back, which go to those who wait.
func (m *Meter) Give(o Owner, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(o, -n)
	m.grant()
}

// Used returns how many units are taken.
func (m *Meter) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// Total returns how many units there are.
func (m *Meter) Total() int64 { return m.total }

func (m *Meter) add(o Owner, n int64) {
	m.used += n
	count(m.sessions, o.Session, n)
	count(m.agents, o.Agent, n)
}

func count(of map[string]int64, key string, n int64) {
	if of[key] += n; of[key] == 0 {
		delete(of, key)
	}
}

// denied says why n units more are too many; nil if they are not. If there are several reasons, it
// gives the narrowest, which is what the owner can do something about.
func (m *Meter) denied(o Owner, n int64) *Denied {
	for _, l := range []struct {
		whose       Whose
		used, limit int64
		percent     int
	}{
		{OfSession, m.sessions[o.Session], m.session, m.shares.Session},
		{OfAgent, m.agents[o.Agent], m.agent, m.shares.Agent},
		{OfHost, m.used, m.total, 100},
	} {
		if n > l.limit-l.used && (l.whose == OfHost || l.limit < m.total) {
			return &Denied{Name: m.name, Whose: l.whose, Wanted: n, Used: l.used, Limit: l.limit, what: m.what, setting: m.setting, total: m.total, percent: l.percent}
		}
	}
	return nil
}

// Whose says which limit was hit.
type Whose string

// The limits that may be hit.
const (
	OfSession Whose = "session"
	OfAgent   Whose = "agent"
	OfHost    Whose = "host"
)

// Denied says why something was not given.
type Denied struct {
	Name   string // of the meter
	Whose  Whose
	Wanted int64
	Used   int64 // by whom the limit is of
	Limit  int64

	what, setting string
	total         int64
	percent       int
}

// Error names the limit, the setting and how much is taken.
func (d *Denied) Error() string {
	if d.Whose == OfHost && d.setting == "" {
		return fmt.Sprintf("of the host's %d %s %d are taken and %d more are wanted", d.Limit, d.what, d.Used, d.Wanted)
	}
	if d.Whose == OfHost {
		return fmt.Sprintf("of the host's %d %s %d are taken and %d more are wanted (setting %s)", d.Limit, d.what, d.Used, d.Wanted, d.setting)
	}
	settings := fmt.Sprintf("setting quotas.%sPercent: %d", d.Whose, d.percent)
	if d.setting != "" {
		settings = fmt.Sprintf("settings quotas.%sPercent: %d and %s", d.Whose, d.percent, d.setting)
	}
	return fmt.Sprintf("this %s has %d %s and wants %d more, but may have %d of the host's %d (%s)", d.Whose, d.Used, d.what, d.Wanted, d.Limit, d.total, settings)
}

// Ticket waits for one unit.
type Ticket struct {
	meter *Meter
	owner Owner
	ready chan struct{}
	done  bool // it has its unit, or waits no more
}

// Queue takes one unit as soon as it is the owner's turn. The unit is the caller's once
// Ready is closed; Cancel ends the waiting.
func (m *Meter) Queue(o Owner) *Ticket {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &Ticket{meter: m, owner: o, ready: make(chan struct{})}
	if len(m.waiting[o.Session]) == 0 {
		m.turns = append(m.turns, o.Session)
	}
	m.waiting[o.Session] = append(m.waiting[o.Session], t)
	m.grant()
	return t
}

// grant gives what is free to those who wait: each session in turn, its first ticket.
func (m *Meter) grant() {
	for i := 0; i < len(m.turns) && m.used < m.total; {
		session := m.turns[i]
		t := m.waiting[session][0]
		if m.denied(t.owner, 1) != nil { // of its own share
			i++
			continue
		}
		m.add(t.owner, 1)
		t.done = true
		close(t.ready)
		m.turns = slices.Delete(m.turns, i, i+1)
		if m.waiting[session] = m.waiting[session][1:]; len(m.waiting[session]) == 0 {
			delete(m.waiting, session)
		} else {
			m.turns = append(m.turns, session)
		}
	}
}

// Ready is closed when the unit is the caller's.
func (t *Ticket) Ready() <-chan struct{} { return t.ready }

// Cancel ends the waiting and reports whether it did: false means that the unit is the
// caller's after all. Why says what stood in the way.
func (t *Ticket) Cancel() (canceled bool, why *Denied) {
	m := t.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.done {
		return false, nil
	}
	t.done = true
	why = m.denied(t.owner, 1)
	session := t.owner.Session
	m.waiting[session] = slices.DeleteFunc(m.waiting[session], func(other *Ticket) bool { return other == t })
	if len(m.waiting[session]) == 0 {
		delete(m.waiting, session)
		m.turns = slices.DeleteFunc(m.turns, func(s string) bool { return s == session })
	}
	return true, why
}
