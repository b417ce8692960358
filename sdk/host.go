package sdk

import (
	"context"
	"sync"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// hostSide is the plugin's way to its host, which opens it some time after the
// process has started.
type hostSide struct {
	opened  chan struct{} // closed once it is known whether there is one
	decided func()

	mu  sync.Mutex
	cur *protocol.HostLink // nil without a link
}

func newHostSide() *hostSide {
	opened := make(chan struct{})
	return &hostSide{opened: opened, decided: sync.OnceFunc(func() { close(opened) })}
}

// unavailable notes that the host is too old to offer anything.
func (h *hostSide) unavailable() { h.decided() }

// link waits for the host to open its side.
func (h *hostSide) link(ctx context.Context) (*protocol.HostLink, error) {
	select {
	case <-h.opened:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cur == nil {
		return nil, &Error{Code: ErrNoStorage.Code, Message: "there is no storage: the plugin is run with protocol version 1; write \"protocol\": 2 into its plugin.json, for a host that speaks it"}
	}
	return h.cur, nil
}
