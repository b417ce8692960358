package history_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/quoinhq/quoin/host/internal/history"
)

// bugs are mistakes that hosts, stores and plugins can make.
type bugs struct {
	noFencing     bool // a stale owner writes
	noTokens      bool // the plugin compares no epochs
	noJournal     bool // a call is made before the store knows of it
	sameEpoch     bool // a takeover does not count
	forgets       bool // a takeover finds no record
	swallows      bool // a takeover says nothing of the call that was in flight
	invents       bool // a takeover answers the call that was in flight
	otherResult   bool // a second delivery has another result
	neverGoesOn   bool // a run of a killed host has no other owner
	deliversEmpty bool // a result is taken as delivered that no client was given
}

const (
	simulatedHosts = 3
	simulatedRuns  = 8
	callsOfRun     = 6
)

// state is the record of a run.
type state struct {
	next     int // the call that is due
	inFlight bool
	answered []string
	unknown  int
	ended    bool
}

type storedRun struct {
	state
	epoch     uint64
	owner     int // -1: free
	forgotten bool
	delivered bool
}

// ownedRun is what a host knows of a run that it claims.
type ownedRun struct {
	state
	epoch  uint64
	called bool // the call in flight has taken effect
}

type simulatedHost struct {
	paused, lapsed bool // lapsed: the others may take over
	runs           map[int]*ownedRun
}

// cluster is three hosts, a store and a plugin. One of them does one step at a time.
// Everything follows from the seed.
type cluster struct {
	bugs
	rng     *rand.Rand
	rec     *history.Recorder
	hosts   []*simulatedHost
	stored  []*storedRun
	highest map[int]uint64 // what the plugin has seen of each run
}

// simulate returns the history of a cluster.
func simulate(seed uint64, b bugs) []history.Event {
	c := &cluster{bugs: b, rng: rand.New(rand.NewPCG(seed, 1)), rec: history.NewRecorder(nil), highest: map[int]uint64{}}
	for range simulatedHosts {
		c.hosts = append(c.hosts, &simulatedHost{runs: map[int]*ownedRun{}})
	}
	for i := range simulatedRuns {
		c.stored = append(c.stored, &storedRun{owner: -1})
		c.record(i, history.Event{Kind: history.Suspended})
	}
	for range 800 {
		c.disturb()
		c.step(c.rng.IntN(simulatedHosts))
		c.wait(c.rng.IntN(simulatedRuns))
	}
	for _, h := range c.hosts {
		h.paused, h.lapsed = false, false
	}
	for range 400 {
		for i := range c.hosts {
			c.step(i)
		}
	}
	for i := range c.stored {
		c.wait(i)
	}
	events, _ := c.rec.Events() // there is no writer to fail
	return events
}

func (c *cluster) record(run int, e history.Event) {
	e.Run = fmt.Sprint("run", run)
	c.rec.Record(e)
}

// disturb kills, pauses, or wakes a host now and then.
func (c *cluster) disturb() {
	h := c.hosts[c.rng.IntN(simulatedHosts)]
	switch c.rng.IntN(12) {
	case 0: // kill -9 and a new process
		h.runs = map[int]*ownedRun{}
		if !c.neverGoesOn {
			for _, s := range c.stored {
				if s.owner >= 0 && c.hosts[s.owner] == h {
					s.owner = -1
				}
			}
		}
	case 1:
		h.paused = true
	case 2:
		h.lapsed = h.paused
	case 3, 4:
		h.paused, h.lapsed = false, false
	}
}

func (c *cluster) step(i int) {
	h := c.hosts[i]
	if h.paused {
		return
	}
	run := c.rng.IntN(simulatedRuns)
	if o := h.runs[run]; o == nil {
		c.claim(i, run)
	} else if !c.advance(i, run, o) {
		delete(h.runs, run)
	}
}

// claim takes a run that is free, or that has an owner with an expired lease.
func (c *cluster) claim(i, run int) {
	s := c.stored[run]
	if s.ended || s.forgotten || s.owner >= 0 && !c.hosts[s.owner].lapsed {
		return
	}
	takeover := s.owner >= 0
	if !c.sameEpoch || s.epoch == 0 {
		s.epoch++
	}
	s.owner = i
	c.record(run, history.Event{Kind: history.Claimed, Host: name(i), Epoch: s.epoch})
	if takeover && c.forgets {
		s.forgotten = true
		return
	}
	o := &ownedRun{state: s.state, epoch: s.epoch}
	o.answered = append([]string(nil), s.answered...)
	c.hosts[i].runs[run] = o
	if !o.inFlight {
		return
	}
	switch {
	case c.swallows:
	case c.invents:
		o.answered = append(o.answered, key(run, o.next))
	default:
		o.unknown++
	}
	o.next, o.inFlight = o.next+1, false
	c.write(i, run, o)
}

// advance does the next step of a run: journal, call, answer, or end. It returns false
// when the host has lost the run.
func (c *cluster) advance(i, run int, o *ownedRun) bool {
	switch {
	case o.next == callsOfRun:
		o.ended = true
		c.write(i, run, o)
		return false
	case !o.inFlight:
		o.inFlight, o.called = true, false
		return c.noJournal || c.write(i, run, o)
	case !o.called:
		o.called = true
		return c.call(i, run, o)
	default:
		o.answered = append(o.answered, key(run, o.next))
		o.next, o.inFlight = o.next+1, false
		return c.write(i, run, o)
	}
}

func (c *cluster) write(i, run int, o *ownedRun) bool {
	s := c.stored[run]
	if !c.noFencing && (s.epoch != o.epoch || s.owner != i) {
		return false
	}
	s.state = o.state
	s.answered = append([]string(nil), o.answered...)
	if s.ended {
		s.owner = -1
	}
	c.record(run, history.Event{Kind: history.Written, Host: name(i), Epoch: o.epoch})
	return true
}

// call is what the plugin does.
func (c *cluster) call(i, run int, o *ownedRun) bool {
	e := history.Event{Kind: history.Effected, Host: name(i), Epoch: o.epoch, Key: key(run, o.next)}
	if c.noTokens {
		e.Epoch = 0
	}
	if e.Epoch < c.highest[run] && !c.noTokens {
		e.Kind = history.Refused
		c.record(run, e)
		return false
	}
	c.highest[run] = max(c.highest[run], e.Epoch)
	c.record(run, e)
	return true
}

// wait is a client that asks for the result.
func (c *cluster) wait(run int) {
	s := c.stored[run]
	switch {
	case !s.ended || s.forgotten:
	case c.deliversEmpty:
		c.record(run, history.Event{Kind: history.Gone})
	default:
		result := strings.Join(s.answered, ",")
		if s.delivered && c.otherResult {
			result += "!"
		}
		s.delivered = true
		c.record(run, history.Event{Kind: history.Completed, Result: result, Answered: s.answered, Unknown: s.unknown})
	}
}

func name(host int) string     { return fmt.Sprint("host", host) }
func key(run, call int) string { return fmt.Sprintf("run%d:%d", run, call+1) }
