package postgres

import (
	"strings"
	"sync"
	"sync/atomic"
)

// claims are those that this process has. A run that is in it has one holder here,
// whatever the database says.
type claims struct {
	*conn
	mended atomic.Uint64 // gaps of the lease after which the reservations were put back

	mu        sync.Mutex
	held      map[string]uint64   // epochs by run; 0 while a claim is being made or freed
	forgotten map[string]struct{} // what this host may own in the database, though no claim is held
}

// reserve takes a run for one caller of this process.
func (c *claims) reserve(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.held[id]; taken {
		return false
	}
	c.held[id] = 0
	return true
}

// free ends a reservation. With unsure, the database may still say that this host owns
// the run.
func (c *claims) free(id string, unsure bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, id)
	if !unsure {
		delete(c.forgotten, id)
		return
	}
	c.forgotten[id] = struct{}{}
}

// reserved returns the runs that are reserved.
func (c *claims) reserved() (runs []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.held {
		if run, is := strings.CutPrefix(name, ofReserved); is {
			runs = append(runs, run)
		}
	}
	return runs
}

// forget notes what the database has said that this host owns, unless it is held.
func (c *claims) forget(owned []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range owned {
		if _, taken := c.held[name]; !taken {
			c.forgotten[name] = struct{}{}
		}
	}
}

// takeForgotten reserves what is to be released again.
func (c *claims) takeForgotten() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.forgotten {
		if _, taken := c.held[name]; !taken {
			c.held[name] = 0
			names = append(names, name)
		}
	}
	return names
}

// How the claims of a journal of effects, and of a reservation, differ from claims of the run.
const (
	ofEffects  = "effects "
	ofReserved = "reserved "
)

// maxID is how long the id of a run is at most.
const maxID = 128

// maxOwned bounds what a host is told at once that it owns. It claims far less.
const maxOwned = 1 << 17
