package postgres

import "time"

// times are what hosts wait for, at most or in between.
type times struct {
	// connect bounds an attempt to connect, and statement each attempt of a statement.
	connect, statement time.Duration
	// retryFor bounds how long a statement is tried again while the database is away. The
	// pause before that doubles from firstRetry to lastRetry.
	retryFor, firstRetry, lastRetry time.Duration
	// release bounds what lets others have something, which they get later otherwise.
	release time.Duration

	// retryRenewal is when a renewal of the lease is made again that has failed, and twice
	// that when it fails again: the connection may have been one that was closed.
	retryRenewal time.Duration
	// firstLook bounds how long the first call of Health waits.
	firstLook time.Duration
	// recount is how long a count of runs is good for, far from the maximum.
	recount time.Duration

	// lockLease is how long the lock of a host that has died stays. A connection would keep
	// the lock of a host that is only stopped, so locks are leases.
	lockLease time.Duration
	// firstLockPause is the pause before a lock that is held is tried again; it doubles up to
	// maxLockPause.
	firstLockPause, maxLockPause time.Duration
	// poll is how often documents that are watched are looked at, whatever was heard.
	poll time.Duration

	// listen is the pause before a host listens for hints again after its connection has
	// ended. It doubles up to maxListen, and is the first one again after a connection that
	// has held for longListen. closeListen bounds the end of such a connection.
	listen, maxListen, longListen, closeListen time.Duration
}

var defaultTimes = times{
	connect:   5 * time.Second,
	statement: 10 * time.Second,

	retryFor:   8 * time.Second,
	firstRetry: 20 * time.Millisecond,
	lastRetry:  time.Second,
	release:    2 * time.Second,

	retryRenewal: 100 * time.Millisecond,
	firstLook:    time.Second,
	recount:      10 * time.Second,

	lockLease:      10 * time.Second,
	firstLockPause: 5 * time.Millisecond,
	maxLockPause:   100 * time.Millisecond,
	poll:           time.Second,

	listen:      50 * time.Millisecond,
	maxListen:   5 * time.Second,
	longListen:  time.Minute,
	closeListen: time.Second,
}

// eventTimes are what a Trajectory waits for, at most or in between.
type eventTimes struct {
	// linger is how long a batch of events waits for more, unless a run suspends or ends.
	linger time.Duration
	// retry is the pause before events are appended again that the database has not taken.
	retry time.Duration
	// close bounds how long Trajectory.Close waits for the database.
	close time.Duration
	// sweep is how often a host looks for trajectories that are over.
	sweep time.Duration
	// waitRecorded bounds how long a reader waits for events that were recorded before.
	waitRecorded time.Duration
}

var defaultEventTimes = eventTimes{
	linger:       50 * time.Millisecond,
	retry:        time.Second,
	close:        5 * time.Second,
	sweep:        10 * time.Minute,
	waitRecorded: 2 * time.Second,
}
