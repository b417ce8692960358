package host

import (
	"context"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

// EventFilter chooses events.
type EventFilter struct {
	All     bool    // of all sessions
	Session Session // else of those that it owns
	Run     string  // "" for all runs
	// Outputs are what programs put out, at the end of the turn in which they did, as events of
	// kind OutputMade: of the runs of Session alone.
	Outputs bool
	// OwnHost leaves out the other hosts of the cluster.
	OwnHost bool
}

// matches reports whether an event is chosen. A gap of a feed itself always is.
func (f EventFilter) matches(e trajectory.Event) bool {
	if e.Kind == trajectory.Gap && e.RunID == "" {
		return true
	}
	return (f.All && e.Kind != trajectory.OutputMade || f.Session.Owns(e.Session)) && (f.Run == "" || e.RunID == f.Run)
}

// Follow returns the chosen events of all hosts of the cluster from now on, whichever drives a
// run. Each host counts its own Seq, and its events come in that order if they were made one
// after the other. A reader that is too slow for them misses some and gets an event of kind Gap
// in their place, and Missed says how many. The channel is closed once ctx has ended or the host
// has closed and the reader has taken what was left; the caller must do one of the two.
//
// The events of a host that cannot be asked are missing, and the events of the first second of a
// host that has just started. Follow returns when it follows the hosts that there are, after a
// few seconds at most.
func (h *Host) Follow(ctx context.Context, f EventFilter) <-chan trajectory.Event {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan trajectory.Event)
	own := h.obs.Subscribe(ctx, f.Outputs)
	o := &followedHosts{member: h.cluster, filter: f, out: out, known: map[string]bool{}}
	ready := make(chan struct{})
	var others sync.WaitGroup
	if h.cluster.peers != nil && !f.OwnHost {
		others.Go(func() { o.follow(ctx, ready) })
	} else {
		close(ready)
	}
	go func() {
		defer close(out)
		defer others.Wait()
		defer cancel()
		for e := range own {
			o.pass(ctx, e)
		}
	}()
	select {
	case <-ready:
	case <-ctx.Done():
	case <-time.After(h.cfg.times.Own.FollowWait):
	}
	return out
}

// followedHosts are the other hosts that one reader gets events from.
type followedHosts struct {
	member *member
	filter EventFilter
	out    chan<- trajectory.Event

	mu    sync.Mutex
	known map[string]bool // ids of hosts that are asked now
}

// pass hands a chosen event to the reader.
func (o *followedHosts) pass(ctx context.Context, e trajectory.Event) {
	if !o.filter.matches(e) {
		return
	}
	select {
	case o.out <- e:
	case <-ctx.Done():
	}
}

// follow asks the other hosts until ctx ends. It closes ready when each host found at the
// first look tells its events or does not answer.
func (o *followedHosts) follow(ctx context.Context, ready chan<- struct{}) {
	var asked, first sync.WaitGroup
	defer asked.Wait()
	o.askNew(ctx, &asked, &first)
	asked.Go(func() {
		first.Wait()
		close(ready)
	})
	tick := time.NewTicker(o.member.cfg.times.Own.FollowEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			o.askNew(ctx, &asked, &sync.WaitGroup{})
		case <-ctx.Done():
			return
		}
	}
}

// askNew asks the hosts that are not asked yet. All of them are in asked until they have told
// everything, and in ready until they tell or have failed to.
func (o *followedHosts) askNew(ctx context.Context, asked, ready *sync.WaitGroup) {
	store := o.member.cfg.Store.(runstore.Shared)
	hosts, err := o.member.followable.get(ctx, store, o.member.cfg.times.Own.FollowEvery)
	if err != nil {
		o.member.log.Debug("the hosts of the store were not found out", "error", err) // its health says the same
		return
	}
	for _, p := range hosts {
		if p.Host == store.Host() || p.Address == "" || !o.take(p.Host) {
			continue
		}
		ready.Add(1)
		asked.Go(func() {
			defer o.leave(p.Host)
			o.ask(ctx, p, sync.OnceFunc(ready.Done))
		})
	}
}

func (o *followedHosts) take(host string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known[host] {
		return false
	}
	o.known[host] = true
	return true
}

func (o *followedHosts) leave(host string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, host)
}

// ask passes what one host tells until it or ctx ends.
func (o *followedHosts) ask(ctx context.Context, p runstore.Peer, ready func()) {
	defer ready()
	told := false
	q := &cluster.Request{Verb: cluster.VerbEvents, Host: p.Host, Run: o.filter.Run, Session: o.filter.Session, All: o.filter.All, Watch: o.filter.Outputs}
	_, err := o.member.peers.Ask(ctx, p.Address, q, func(f *cluster.Frame) {
		switch {
		case f.Ready:
			told = true
			ready()
		case f.Event != nil:
			o.pass(ctx, *f.Event)
		}
	})
	if err != nil && ctx.Err() == nil {
		if told { // until it is asked again, events are missed: how many, it alone knows
			o.pass(ctx, trajectory.Event{Kind: trajectory.Gap, Time: time.Now().Round(0)})
		}
		o.member.log.Debug("a host does not tell its events", "host", p.Host, "address", p.Address, "error", err) // see Health
	}
}

// answerPeer answers another host.
func (h *Host) answerPeer(ctx context.Context, q *cluster.Request, tell func(*cluster.Frame)) *cluster.Reply {
	if q.Verb != cluster.VerbEvents {
		return h.engine.AnswerPeer(ctx, q, tell)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.cluster.feeds, cancel)()
	filter := EventFilter{All: q.All, Session: q.Session, Run: q.Run}
	events := h.obs.Subscribe(ctx, q.Watch)
	tell(&cluster.Frame{Ready: true})
	for e := range events {
		if filter.matches(e) {
			tell(&cluster.Frame{Event: &e})
		}
	}
	return &cluster.Reply{Done: true}
}
