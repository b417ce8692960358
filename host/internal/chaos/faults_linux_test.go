package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A fault breaks something, leaves it broken for a while, and heals it.
type fault struct {
	name string
	run  func(ctx context.Context, rng *rand.Rand) error
}

// faultsOf are what may happen to one host.
func (w *world) faultsOf(m *member) []fault {
	kill, stop := fault{"kill", func(ctx context.Context, rng *rand.Rand) error {
		m.kill()
		rest(ctx, upTo(rng, 3*time.Second))
		return m.start(context.Background())
	}}, fault{"stop", func(ctx context.Context, rng *rand.Rand) error {
		return m.stop(ctx, w.pause(rng))
	}}
	faults := []fault{kill, stop, kill, stop, kill, stop} // there are many ways to cut a network
	for _, link := range []struct {
		what    string
		proxies []*proxy
	}{
		{"database", []*proxy{m.database}},
		{"other hosts", []*proxy{m.peers}},
		{"database and other hosts", []*proxy{m.database, m.peers}},
	} {
		if link.proxies[0] == nil {
			continue
		}
		faults = append(faults,
			fault{"partition from " + link.what, func(ctx context.Context, rng *rand.Rand) error {
				w.partition(ctx, rng, link.proxies, true, true)
				return nil
			}},
			fault{"lost answers of " + link.what, func(ctx context.Context, rng *rand.Rand) error {
				w.partition(ctx, rng, link.proxies, false, true)
				return nil
			}},
			fault{"reset of connections to " + link.what, func(context.Context, *rand.Rand) error {
				for _, p := range link.proxies {
					p.reset()
				}
				return nil
			}})
	}
	return faults
}

// partition holds what is sent. What was held arrives late, or never.
func (w *world) partition(ctx context.Context, rng *rand.Rand, proxies []*proxy, to, from bool) {
	for _, p := range proxies {
		p.hold(to, from)
	}
	rest(ctx, w.pause(rng))
	late := rng.IntN(2) == 0
	for _, p := range proxies {
		if !late {
			p.reset()
		}
		p.hold(false, false)
	}
}

// pause is how long a host stands still or is cut off: mostly for less than a lease and
// its end, now and then for half a minute if the test has the time.
func (w *world) pause(rng *rand.Rand) time.Duration {
	if rng.IntN(5) == 0 {
		return min(*chaosTime/6, 30*time.Second)
	}
	return upTo(rng, min(*chaosTime/4, 9*time.Second))
}

func upTo(rng *rand.Rand, d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }

// disturb has one fault after the other until ctx ends, and heals the last one.
func (w *world) disturb(ctx context.Context, rng *rand.Rand, where string, faults []fault, calm time.Duration) {
	faults = slices.DeleteFunc(faults, func(f fault) bool { return !w.only.MatchString(where + " " + f.name) })
	for len(faults) > 0 {
		rest(ctx, upTo(rng, calm))
		if ctx.Err() != nil {
			return
		}
		f := faults[rng.IntN(len(faults))]
		start := time.Now()
		err := f.run(ctx, rng)
		w.faults.note(where, f.name, start, err)
	}
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
	where, what string
	from, to    time.Time
}

func (s span) String() string {
	return fmt.Sprintf("%s %s: %s for %s", s.from.Format(timeOfDay), s.where, s.what, s.to.Sub(s.from).Round(time.Millisecond))
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

func (l *faultLog) note(where, what string, from time.Time, err error) {
	l.Lock()
	defer l.Unlock()
	l.counts[where+": "+what]++
	l.spans = append(l.spans, span{where, what, from, time.Now()})
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("%s: %s: %w", where, what, err))
	}
}
