package sdk

import (
	"context"
	"sync"
	"time"
)

// drainMargin is how long before its deadline a drain gives up, so that the
// answer still reaches the host.
const drainMargin = 50 * time.Millisecond

// calls counts the tool calls in progress. The zero value is ready.
type calls struct {
	mu      sync.Mutex
	running int
	closed  bool
	idle    chan struct{} // closed when running reaches 0 after a drain has started
}

// start counts a call in, unless a drain has started.
func (c *calls) start() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running++
	return true
}

func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if c.closed && c.running == 0 {
		close(c.idle)
	}
}

func (c *calls) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// close refuses new calls from now on.
func (c *calls) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	c.idle = make(chan struct{})
	if c.running == 0 {
		close(c.idle)
	}
}

// wait waits for the running calls until ctx ends. It returns how many are left.
// The calls must have been closed.
func (c *calls) wait(ctx context.Context) int {
	select {
	case <-c.idle:
	case <-ctx.Done():
	}
	return c.count()
}
