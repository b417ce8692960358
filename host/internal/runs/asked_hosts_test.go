package runs

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// hostList is a store with a changing list of hosts.
type hostList struct {
	runstore.Shared
	live   atomic.Pointer[[]runstore.Peer] // nil: the store does not say
	looked chan struct{}
}

func (l *hostList) Peers(ctx context.Context, _ int) ([]runstore.Peer, error) {
	defer func() {
		select {
		case l.looked <- struct{}{}:
		case <-ctx.Done():
		}
	}()
	if live := l.live.Load(); live != nil {
		return *live, nil
	}
	return nil, errors.New("away")
}

// TestAQuestionEndsWithTheLeaseOfItsHost: questions to hosts that live continue, and so do
// all while the store does not say who lives. Once nothing is asked, the store is not asked
// either.
func TestAQuestionEndsWithTheLeaseOfItsHost(t *testing.T) {
	t.Parallel()
	l := &hostList{looked: make(chan struct{})}
	both, one := []runstore.Peer{{Host: "a"}, {Host: "b"}}, []runstore.Peer{{Host: "b"}}
	l.live.Store(&both)
	hosts := askedHosts{every: hosttest.Tenth(timing.Defaults).HostLook}
	a, stopA := hosts.watch(t.Context(), l, "a")
	b, stopB := hosts.watch(t.Context(), l, "b")
	look := func() { <-l.looked; <-l.looked } // the second one was made of what is there now
	look()
	l.live.Store(nil)
	look()
	if a.Err() != nil || b.Err() != nil {
		t.Errorf("both hosts live: %v, %v", context.Cause(a), context.Cause(b))
	}
	l.live.Store(&one)
	look()
	<-a.Done()
	if context.Cause(a) != errHostGone || b.Err() != nil {
		t.Errorf("host a is gone: %v, %v", context.Cause(a), context.Cause(b))
	}
	stopA()
	stopB()
	if again, stop := hosts.watch(t.Context(), l, "b"); again.Err() != nil {
		t.Error("what was asked later has ended")
	} else {
		look()
		stop()
	}
	if hosts.end != nil {
		t.Error("it looks on though nothing is asked")
	}
}
