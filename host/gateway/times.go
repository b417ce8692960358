package gateway

import "time"

// times are what a server waits for, besides what [Options] bound. Tests wait for less.
type times struct {
	// keepAlive is how often a stream without events sends a comment, so that proxies and
	// clients do not take it for dead.
	keepAlive time.Duration
	// shutdownWrite is how long a client may take for the rest of a stream once the server
	// shuts down.
	shutdownWrite time.Duration
	// restore is how long the processes of a plugin in development may take to end their
	// calls. The installed plugin is back before that.
	restore time.Duration
	// wait is how long exec and wait take for a caller that does not say. Most clients and
	// proxies give up on an answer after 60 s.
	wait time.Duration
}

var defaultTimes = times{keepAlive: 15 * time.Second, shutdownWrite: 2 * time.Second, restore: 10 * time.Second, wait: 45 * time.Second}
