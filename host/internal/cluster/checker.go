package cluster

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// How a host looks for faults of the cluster.
const (
	maxPeers     = 256 // that the store is asked for
	maxGreetings = 32  // in one round; others get their turn later
	greetAtOnce  = 8
)

// Checker finds out which hosts of the store this one cannot ask although they live. A host
// that does not answer is at fault once it has renewed its lease since: one that is merely
// gone does not.
type Checker struct {
	peers *Peers
	store runstore.Shared
	own   string // the address that this host advertises; may be empty
	log   *slog.Logger

	suspects map[string]time.Time // by host: the end of the lease after it had failed to answer; zero: not known yet. Only round uses it

	mu     sync.Mutex
	faults map[string]Fault // by host
}

// NewChecker returns what checks the hosts of a store for the host that advertises that
// address, which may be empty.
func NewChecker(p *Peers, store runstore.Shared, own string, log *slog.Logger) *Checker {
	return &Checker{peers: p, store: store, own: own, log: log, suspects: map[string]time.Time{}, faults: map[string]Fault{}}
}

// Run checks until ctx ends.
func (c *Checker) Run(ctx context.Context) {
	for {
		pause := c.peers.times.CheckEvery
		if suspected, err := c.round(ctx, maxGreetings); err != nil {
			c.log.Debug("the hosts of the store were not found out", "error", err) // its health says the same
		} else if suspected {
			pause = c.peers.times.SuspectEvery
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// Settle checks until each host either answers, is gone or is at fault.
func (c *Checker) Settle(ctx context.Context) error {
	for {
		suspected, err := c.round(ctx, maxPeers)
		if err != nil || !suspected {
			return cmp.Or(err, context.Cause(ctx))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(c.peers.times.SuspectEvery):
		}
	}
}

// Faults returns what is wrong now, ordered by host. It is safe for concurrent use.
func (c *Checker) Faults() []Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Fault, 0, len(c.faults))
	for _, f := range c.faults {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Fault) int { return strings.Compare(a.Host, b.Host) })
	return out
}

// round greets that many hosts once, by chance where there are more. It reports whether one
// is suspected.
func (c *Checker) round(ctx context.Context, most int) (suspected bool, err error) {
	hosts, err := c.store.Peers(ctx, maxPeers)
	if err != nil {
		return false, err
	}
	live := make(map[string]bool, len(hosts))
	for _, h := range hosts {
		live[h.Host] = true
	}
	c.forgetAllBut(live)
	others := slices.DeleteFunc(hosts, func(h runstore.Peer) bool { return h.Host == c.store.Host() || h.Address == "" })
	c.note(c.store.Host(), c.own, c.ownFault(ctx, others))
	rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	others = others[:min(len(others), most)]
	for i, err := range c.greetAll(ctx, others) {
		if ctx.Err() != nil {
			return false, nil
		}
		c.judge(others[i], err)
	}
	return len(c.suspects) > 0, nil
}

// forgetAllBut forgets hosts that are gone.
func (c *Checker) forgetAllBut(live map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for host := range c.faults {
		if !live[host] && host != c.store.Host() {
			delete(c.faults, host)
		}
	}
	for host := range c.suspects {
		if !live[host] {
			delete(c.suspects, host)
		}
	}
}

func (c *Checker) greetAll(ctx context.Context, hosts []runstore.Peer) []error {
	errs, places := make([]error, len(hosts)), make(chan struct{}, greetAtOnce)
	var all sync.WaitGroup
	for i, h := range hosts {
		places <- struct{}{}
		all.Go(func() {
			errs[i] = c.peers.greet(ctx, h.Address, h.Host)
			<-places
		})
	}
	all.Wait()
	return errs
}

// judge notes how a host has answered.
func (c *Checker) judge(h runstore.Peer, err error) {
	c.mu.Lock()
	known, faulty := c.faults[h.Host]
	c.mu.Unlock()
	seen, suspected := c.suspects[h.Host]
	switch {
	case err == nil:
		delete(c.suspects, h.Host)
		c.note(h.Host, h.Address, nil)
	case faulty && known.Address == h.Address:
		c.note(h.Host, h.Address, err)
	case !suspected:
		c.suspects[h.Host] = time.Time{}
	case seen.IsZero():
		c.suspects[h.Host] = h.Until
	case h.Until.After(seen): // it has lived since it did not answer
		delete(c.suspects, h.Host)
		c.note(h.Host, h.Address, err)
	}
}

// note keeps a fault of a host, or forgets it without an error, and logs what is new.
func (c *Checker) note(host, address string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, was := c.faults[host]
	switch {
	case err != nil:
		f := Fault{Host: host, Address: address, Kind: kindOf(err), Err: err}
		c.faults[host] = f
		if !was || before.Kind != f.Kind || before.Address != f.Address {
			c.log.Warn("hosts of the cluster cannot ask each other: "+f.Problem(), "host", host, "address", address, "advice", f.Advice(), "error", err)
		}
	case was:
		delete(c.faults, host)
		c.log.Info("a fault of the cluster is over", "host", host, "address", address, "was", string(before.Kind))
	}
}

// errLoopback says that this host tells others an address of its own machine.
var errLoopback = errors.New("the address is one of the machine itself")

// ownFault is what is wrong with the address that this host advertises.
func (c *Checker) ownFault(ctx context.Context, others []runstore.Peer) error {
	if !isLoopback(c.own) {
		return nil
	}
	for _, h := range others {
		if isElsewhere(ctx, h.Address, c.peers.times.DialTimeout) {
			return errLoopback
		}
	}
	return nil
}
