package chaos_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A fault breaks something, leaves it broken for a while, and heals it.
type fault struct {
	where, name string
	// lasts is how long its effect takes to show. 0: it is over at once.
	lasts time.Duration
	// most is the longest that it lasts at random. 0: as [pause] says.
	most       time.Duration
	begin, end func() error
	// weight is how many times as often it happens at random as another one. 0: as often.
	weight int
	// leftOut says why it cannot be provoked here.
	leftOut string
}

func (f fault) String() string { return f.where + ": " + f.name }

// provoke has the fault last for d, or until ctx ends.
func (f fault) provoke(ctx context.Context, d time.Duration) error {
	if err := f.begin(); err != nil || f.end == nil {
		return err
	}
	rest(ctx, d)
	return f.end()
}

const (
	// pastLease is longer than a lease and what it takes others to take runs over.
	pastLease = 7 * time.Second
	// moment is long enough for requests of clients to meet a fault.
	moment = 1500 * time.Millisecond
)

// faultsOf are what may happen to one host, the same for each host.
func (w *world) faultsOf(m *member) []fault {
	stopped := moment // in a directory there are no leases
	if m.database != nil {
		stopped = pastLease
	}
	faults := []fault{
		{name: "kill", lasts: moment, most: 3 * time.Second, weight: 4, begin: func() error { m.kill(); return nil }, end: m.restart},
		{name: "terminate", begin: m.terminate, end: m.restart},
		{
			name: "stop", lasts: stopped, weight: 4,
			begin: func() error { return m.signal(syscall.SIGSTOP) },
			end:   func() error { return m.signal(syscall.SIGCONT) },
		},
		{name: "plugin killed", begin: m.killPlugin},
	}
	if m.database != nil {
		faults = slices.Concat(faults, m.wrongClocks(), []fault{m.fullDisk(), m.unplugged()}, m.cuts())
	}
	for i := range faults {
		faults[i].where = m.name
	}
	return faults
}

// cuts are what may happen to the connections of a host. What is held back arrives late, or
// never: then connections are reset.
func (m *member) cuts() []fault {
	cut := func(name string, lasts time.Duration, to, from, late bool, proxies ...*proxy) fault {
		return fault{
			name: name, lasts: lasts,
			begin: func() error {
				for _, p := range proxies {
					p.hold(to, from)
				}
				return nil
			},
			end: func() error {
				for _, p := range proxies {
					if !late {
						p.reset()
					}
					p.hold(false, false)
				}
				return nil
			},
		}
	}
	reset := func(p *proxy) func() error { return func() error { p.reset(); return nil } }
	return []fault{
		cut("partition from database", moment, true, true, false, m.database),
		cut("late messages of database", pastLease, true, true, true, m.database),
		cut("lost answers of database", moment, false, true, false, m.database),
		cut("late answers of database", moment, false, true, true, m.database),
		{name: "reset of connections to database", begin: reset(m.database)},
		cut("partition from other hosts", moment, true, true, false, m.peers),
		cut("late messages of other hosts", moment, true, true, true, m.peers),
		cut("lost answers of other hosts", moment, false, true, false, m.peers),
		cut("late answers of other hosts", moment, false, true, true, m.peers),
		{name: "reset of connections to other hosts", begin: reset(m.peers)},
		cut("partition from database and other hosts", moment, true, true, false, m.database, m.peers),
		cut("late messages of database and other hosts", moment, true, true, true, m.database, m.peers),
	}
}

// breakThings has each kind of fault once, or the faults of -chaostime.
func (w *world) breakThings(t *testing.T, ofDatabase []fault) {
	t.Helper()
	if *chaosTime > 0 {
		w.breakAtRandom(t, ofDatabase)
		return
	}
	var list []fault
	for i := range w.faultsOf(w.members[0]) {
		list = append(list, w.faultsOf(w.members[i%len(w.members)])[i])
	}
	w.breakInOrder(t, append(list, ofDatabase...))
}

// breakInOrder has one fault after the other, each once every host is whole again.
func (w *world) breakInOrder(t *testing.T, faults []fault) {
	t.Helper()
	var probes []*user
	for _, m := range w.members {
		probes = append(probes, w.user("probe of "+m.name, 0, m))
	}
	for _, f := range w.wanted(t, faults) {
		start := time.Now()
		err := f.provoke(t.Context(), f.lasts)
		end := time.Now()
		w.faults.note(f, start, err)
		if err := probe(t.Context(), probes); err != nil {
			t.Errorf("%s: a host that is whole again ends no run: %v", f, err)
		}
		t.Logf("%-50s broken for %4.1f s, whole again after %4.1f s", f, end.Sub(start).Seconds(), time.Since(end).Seconds())
	}
}

// probe returns once each host has ended a run that is new there.
func probe(ctx context.Context, probes []*user) error {
	ctx, cancel := context.WithTimeout(ctx, healing)
	defer cancel()
	var asking sync.WaitGroup
	for _, u := range probes {
		asking.Go(func() {
			for ctx.Err() == nil {
				if c := u.anyHost().host(); c != nil && u.exec(c, prologue+shortPrograms[0]+epilogue) {
					break
				}
				rest(ctx, backOff)
			}
			u.finish(ctx)
		})
	}
	asking.Wait()
	return ctx.Err()
}

// breakAtRandom breaks hosts and the database, each for itself, until chaosTime is over.
func (w *world) breakAtRandom(t *testing.T, ofDatabase []fault) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *chaosTime)
	defer cancel()
	var breaking sync.WaitGroup
	for i, m := range w.members {
		faults := w.wanted(t, w.faultsOf(m))
		breaking.Go(func() { w.disturb(ctx, w.rng(100+i), faults, min(*chaosCalm, *chaosTime/3)) })
	}
	faults := w.wanted(t, ofDatabase)
	breaking.Go(func() { w.disturb(ctx, w.rng(200), faults, min(2**chaosCalm, *chaosTime/4)) })
	breaking.Wait()
	for _, what := range slices.Sorted(maps.Keys(w.faults.counts)) {
		t.Logf("%4d %s", w.faults.counts[what], what)
	}
}

// disturb has faults, with calm between, until ctx ends, and heals the last one.
func (w *world) disturb(ctx context.Context, rng *rand.Rand, faults []fault, calm time.Duration) {
	var all []fault
	for _, f := range faults {
		all = append(all, slices.Repeat([]fault{f}, max(1, f.weight))...)
	}
	for len(all) > 0 {
		rest(ctx, upTo(rng, calm))
		if ctx.Err() != nil {
			return
		}
		f := all[rng.IntN(len(all))]
		start := time.Now()
		err := f.provoke(ctx, f.pause(rng))
		w.faults.note(f, start, err)
	}
}

// pause is how long a fault lasts at random. A host stands still or is cut off mostly for
// less than a lease and its end, now and then for half a minute if the test has the time.
func (f fault) pause(rng *rand.Rand) time.Duration {
	switch {
	case f.lasts == 0:
		return 0
	case f.most > 0:
		return upTo(rng, min(*chaosTime/4, f.most))
	case rng.IntN(5) == 0:
		return min(*chaosTime/6, 30*time.Second)
	}
	return upTo(rng, min(*chaosTime/4, 9*time.Second))
}

func upTo(rng *rand.Rand, d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }

// wanted are those that -chaosonly names, and that can be provoked here.
func (w *world) wanted(t *testing.T, faults []fault) []fault {
	t.Helper()
	return slices.DeleteFunc(faults, func(f fault) bool {
		if !w.only.MatchString(f.String()) {
			return true
		}
		if f.leftOut != "" {
			t.Logf("%s: LEFT OUT: %s", f, f.leftOut)
		}
		return f.leftOut != ""
	})
}

// faultLog counts what was broken.
type faultLog struct {
	sync.Mutex
	counts map[string]int
	spans  []span
	errs   []error
}

// span is when something was broken.
type span struct {
	fault
	from, to time.Time
}

func (s span) String() string {
	return fmt.Sprintf("%s %s for %s", s.from.Format(timeOfDay), s.fault, s.to.Sub(s.from).Round(time.Millisecond))
}

// disturbed reports whether one of these was broken at some time, or not long before.
func (l *faultLog) disturbed(from, to time.Time, where ...string) bool {
	return slices.ContainsFunc(l.spans, func(s span) bool {
		return slices.Contains(where, s.where) && s.from.Before(to) && s.to.Add(recovery).After(from)
	})
}

// recovery is how long what was broken may still be seen by who waits: a connection is
// made again, a database reads its log.
const recovery = 2 * time.Second

func (l *faultLog) note(f fault, from time.Time, err error) {
	l.Lock()
	defer l.Unlock()
	l.counts[f.String()]++
	l.spans = append(l.spans, span{f, from, time.Now()})
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("%s: %w", f, err))
	}
}
