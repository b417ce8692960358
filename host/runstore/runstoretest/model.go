package runstoretest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quoinhq/quoin/host/runstore"
)

// model is what the store should have of one run, and who may write it.
type model struct {
	state  string // as stateOf says it
	record bool   // there is a record
	gen    uint64 // of the newest record
	over   bool   // its time is over
	holder *holder
	epoch  uint64    // the newest that there was
	all    []*holder // every claim that there was
}

// holder is one claim.
type holder struct {
	host  int
	claim runstore.Claim
	// lapsed says that the lease of the host was over since. Until another host claims
	// the run, what the claim writes may count or not.
	lapsed bool
	// renewed says that the host may have a lease again.
	renewed  bool
	released bool
	deleted  bool // it has deleted its run, so that another may have the id
}

// machine drives several hosts against one model.
type machine struct {
	d     Driver
	t     *testing.T
	hosts []runstore.Store
	ids   []string
	runs  map[string]*model
	next  uint64 // generation
}

var models atomic.Int64 // so that the ids of models differ

// testModel has hosts do what they may in any order, and compares what comes of it with
// a model: who gets a claim, which write counts, and what is read.
func testModel(t *testing.T, d Driver) {
	hosts := d.Open(t, 3)
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{d: d, t: t, hosts: hosts, runs: map[string]*model{}}
		n := models.Add(1)
		for i := range 2 {
			id := fmt.Sprintf("model_%d_%d", n, i)
			m.ids, m.runs[id] = append(m.ids, id), &model{state: "nothing"}
		}
		defer m.clear(rt)
		for range rapid.IntRange(5, 25).Draw(rt, "steps") {
			m.step(rt)
			m.compare(rt)
		}
	})
}

// step makes one step.
func (m *machine) step(rt *rapid.T) {
	steps := []struct {
		name string
		do   func(*rapid.T, string, *model)
	}{
		{"create", m.create}, {"claim", m.claim}, {"claim", m.claim}, {"release", m.release},
		{"checkpoint", m.checkpoint}, {"checkpoint", m.checkpoint}, {"answers", m.putCalls}, {"answers", m.putCalls},
		{"end", m.end}, {"delete", m.delete}, {"sweep", m.sweep}, {"expire", m.expire},
	}
	step := steps[rapid.IntRange(0, len(steps)-1).Draw(rt, "step")]
	id := rapid.SampledFrom(m.ids).Draw(rt, "run")
	rt.Logf("%s %s", step.name, id)
	step.do(rt, id, m.runs[id])
}

// compare fails unless every host reads what the model has.
func (m *machine) compare(rt *rapid.T) {
	for id, run := range m.runs {
		for i, s := range m.hosts {
			if got := stateOf(s, id); got != run.state {
				rt.Fatalf("host %d reads %s of %s, want %s", i, got, id, run.state)
			}
		}
	}
}

func (m *machine) host(rt *rapid.T) int { return rapid.IntRange(0, len(m.hosts)-1).Draw(rt, "host") }

// some returns one of the claims that there were, mostly the newest.
func (m *machine) some(rt *rapid.T, run *model) *holder {
	if len(run.all) == 0 {
		return nil
	}
	if rapid.Bool().Draw(rt, "newest") {
		return run.all[len(run.all)-1]
	}
	return rapid.SampledFrom(run.all).Draw(rt, "claim")
}

// claimed notes a claim that a host has got.
func (m *machine) claimed(rt *rapid.T, run *model, host int, c runstore.Claim) {
	if run.holder != nil && !run.holder.lapsed {
		rt.Fatalf("host %d has claimed a run that host %d has", host, run.holder.host)
	}
	if c.Epoch() <= run.epoch {
		rt.Fatalf("epoch %d after %d", c.Epoch(), run.epoch)
	}
	m.renewed(host)
	run.epoch, run.holder = c.Epoch(), &holder{host: host, claim: c}
	run.all = append(run.all, run.holder)
}

// renewed notes that a host may have a lease again: it has claimed a run, or tried to create one.
func (m *machine) renewed(host int) {
	for _, run := range m.runs {
		if h := run.holder; h != nil && h.host == host && h.lapsed {
			h.renewed = true
		}
	}
}

// record makes the next record of a run. One in four expires at once.
func (m *machine) record(rt *rapid.T, id string) (r *runstore.Record, over bool) {
	m.next++
	r = Record(id, m.next)
	if over = rapid.IntRange(0, 3).Draw(rt, "over") == 0; over {
		r.Expires = time.Now().Add(-time.Second)
	}
	return r, over
}

func (run *model) stored(r *runstore.Record, over bool) {
	run.record, run.gen, run.over, run.state = true, r.Generation, over, fresh(r.Generation)
	if over {
		run.state = runstore.ErrExpired.Error()
	}
}

func (run *model) cleared() {
	run.record, run.over, run.state = false, false, "nothing"
}

func (m *machine) create(rt *rapid.T, id string, run *model) {
	host := m.host(rt)
	r, over := m.record(rt, id)
	c, err := m.hosts[host].Create(context.Background(), r, 0)
	taken := run.state != "nothing" || run.holder != nil && !run.holder.lapsed
	switch {
	case err == nil && taken:
		rt.Fatalf("host %d has created a run that was there", host)
	case err == nil:
		run.epoch = 0 // it is another run
		m.claimed(rt, run, host, c)
		run.stored(r, over)
	case !errors.Is(err, runstore.ErrClaimed) || !taken && run.holder == nil && !run.keptBy(host):
		rt.Fatalf("Create: %v", err)
	default:
		m.renewed(host)
	}
}

func (m *machine) claim(rt *rapid.T, id string, run *model) {
	host := m.host(rt)
	c, err := m.hosts[host].Claim(context.Background(), id)
	switch {
	case err == nil && run.state == "nothing":
		rt.Fatalf("host %d has claimed a run that is not there", host)
	case err == nil:
		m.claimed(rt, run, host, c)
	case errors.Is(err, runstore.ErrClaimed) && run.holder != nil && (!run.holder.lapsed || run.holder.renewed || run.holder.host == host):
	case errors.Is(err, runstore.ErrClaimed) && run.keptBy(host):
	case errors.Is(err, runstore.ErrNotFound) && run.state == "nothing":
	case errors.Is(err, runstore.ErrClaimed) && run.state == "nothing": // an earlier claim was not released
	default:
		rt.Fatalf("Claim by host %d of %s: %v", host, run.state, err)
	}
}

// keptBy reports whether a host has a claim of the run that it has not released, stale or
// not: it may have one at a time.
func (run *model) keptBy(host int) bool {
	return slices.ContainsFunc(run.all, func(h *holder) bool { return h.host == host && !h.released })
}

func (m *machine) release(rt *rapid.T, _ string, run *model) {
	h := m.some(rt, run)
	if h == nil {
		return
	}
	h.claim.Release()
	h.released = true
	if run.holder == h {
		run.holder = nil
	}
}

// wrote checks what came of a write, and reports whether it counts.
func (m *machine) wrote(rt *rapid.T, run *model, h *holder, err error) bool {
	switch {
	case run.holder == nil && run.state == "nothing" && errors.Is(err, runstore.ErrNotFound):
	case h.deleted && errors.Is(err, runstore.ErrNotFound):
	case run.holder != h && !errors.Is(err, runstore.ErrFenced):
		rt.Fatalf("a write of the claim %d of host %d: %v, want ErrFenced", h.claim.Epoch(), h.host, err)
	case run.holder == h && errors.Is(err, runstore.ErrFenced) && h.lapsed:
	case run.holder == h && err != nil:
		rt.Fatalf("a write of the newest claim: %v", err)
	}
	return err == nil
}

func (m *machine) checkpoint(rt *rapid.T, id string, run *model) {
	h := m.some(rt, run)
	if h == nil {
		return
	}
	r, over := m.record(rt, id)
	err := h.claim.Checkpoint(context.Background(), r)
	if run.holder == h && !run.record && errors.Is(err, runstore.ErrNotFound) {
		return
	}
	if m.wrote(rt, run, h, err) {
		if !run.record {
			rt.Fatal("a checkpoint of a run without a record was taken")
		}
		run.stored(r, over)
	}
}

func (m *machine) putCalls(rt *rapid.T, _ string, run *model) {
	h := m.some(rt, run)
	if h == nil {
		return
	}
	generation := run.gen
	if rapid.IntRange(0, 3).Draw(rt, "late") == 0 {
		generation--
	}
	m.next++
	answer := fmt.Sprint(m.next)
	err := h.claim.PutCalls(context.Background(), generation, Settled(1, answer))
	if (generation != run.gen || !run.record) && run.holder == h && errors.Is(err, runstore.ErrNotFound) {
		return
	}
	if !m.wrote(rt, run, h, err) {
		return
	}
	if generation != run.gen || !run.record {
		rt.Fatal("answers to an image that is not the newest were taken")
	}
	if !run.over {
		run.state = answered(run.gen, answer)
	}
}

func (m *machine) end(rt *rapid.T, id string, run *model) {
	h := m.some(rt, run)
	if h == nil || run.holder == h && !run.record {
		return
	}
	m.next++
	result := fmt.Sprint(m.next)
	if m.wrote(rt, run, h, h.claim.End(context.Background(), Ended(id, result))) {
		run.cleared()
		run.state = "the result " + result
	}
}

func (m *machine) delete(rt *rapid.T, _ string, run *model) {
	h := m.some(rt, run)
	if h == nil {
		return
	}
	err := h.claim.Delete(context.Background())
	if run.state == "nothing" && (run.holder == nil || run.holder.lapsed) && err == nil {
		return // there was nothing to delete, or a sweep has taken it
	}
	if h.deleted && err == nil {
		return // its run is deleted: the claim need not find out that the id is another run's by now
	}
	if m.wrote(rt, run, h, err) {
		h.deleted = true
		run.cleared()
	}
}

func (m *machine) sweep(rt *rapid.T, _ string, _ *model) {
	host := m.host(rt)
	if _, err := m.hosts[host].Sweep(context.Background(), time.Now()); err != nil {
		rt.Fatalf("Sweep: %v", err)
	}
	for id, run := range m.runs {
		switch {
		case !run.over:
		case run.holder == nil:
			run.cleared()
		case run.holder.lapsed: // swept or not
			if stateOf(m.hosts[host], id) == "nothing" {
				run.cleared()
				run.holder = nil
			}
		}
	}
}

func (m *machine) expire(rt *rapid.T, _ string, _ *model) {
	if m.d.Expire == nil {
		return
	}
	host := m.host(rt)
	m.d.Expire(m.t, m.hosts[host])
	for _, run := range m.runs {
		if run.holder != nil && run.holder.host == host {
			run.holder.lapsed = true
		}
	}
}

// clear releases everything and deletes the runs.
func (m *machine) clear(rt *rapid.T) {
	for id, run := range m.runs {
		for _, h := range slices.Backward(run.all) {
			h.claim.Release()
		}
		c, err := m.hosts[0].Claim(context.Background(), id)
		if errors.Is(err, runstore.ErrNotFound) {
			continue
		}
		if err != nil {
			rt.Fatalf("every claim was released, and a new one answers %v", err)
		}
		if err := c.Delete(context.Background()); err != nil {
			rt.Fatalf("Delete: %v", err)
		}
		c.Release()
	}
}
