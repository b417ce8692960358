package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// countedPeers lists a host, and counts how often it is asked.
type countedPeers struct {
	runstore.Shared
	asked int
	err   error
}

func (c *countedPeers) Peers(context.Context, int) ([]runstore.Peer, error) {
	c.asked++
	return []runstore.Peer{{Host: "b"}}, c.err
}

// TestReadersOfEventsShareOneLook: the store is asked once for all of them, again when its
// answer is old, and again after it has not answered.
func TestReadersOfEventsShareOneLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const every = time.Second
		var l peerList
		store := &countedPeers{err: errors.New("away")}
		if _, err := l.get(t.Context(), store, every); !errors.Is(err, store.err) {
			t.Errorf("got %v", err)
		}
		store.err = nil
		for range 10 {
			if hosts, err := l.get(t.Context(), store, every); err != nil || len(hosts) != 1 {
				t.Errorf("hosts %v, %v", hosts, err)
			}
		}
		time.Sleep(every)
		_, err := l.get(t.Context(), store, every)
		if err != nil || store.asked != 3 {
			t.Errorf("the store was asked %d times, want 3; %v", store.asked, err)
		}
	})
}
