package host

import (
	"context"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// peerList is the list of hosts that all readers of events share, so that the store is asked
// as often for many as for one.
type peerList struct {
	mu    sync.Mutex
	asked time.Time
	hosts []runstore.Peer
}

// get returns the hosts as they are now, or were less than half of every ago, which is how often a reader asks.
func (l *peerList) get(ctx context.Context, store runstore.Shared, every time.Duration) ([]runstore.Peer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked.IsZero() && time.Since(l.asked) < every/2 {
		return l.hosts, nil
	}
	hosts, err := store.Peers(ctx, maxFollowed)
	if err != nil {
		return nil, err
	}
	l.asked, l.hosts = time.Now(), hosts
	return hosts, nil
}

// maxFollowed bounds the hosts that Follow follows.
const maxFollowed = 256
