package plugins

import "time"

// times are what this package waits for. Tests wait for less.
type times struct {
	start, call, close                          time.Duration // unless Options says so
	drain, health                               time.Duration // unless SupervisorOptions says so
	restartWindow, restartFirst, restartLongest time.Duration // unless RestartPolicy says so

	// exitGrace is how long a lost connection may precede the end of the process before the
	// process is killed.
	exitGrace time.Duration
	// pipeGrace is how long output is still read after the process is gone, for a
	// descendant that escaped its group and holds the pipes.
	pipeGrace time.Duration
	// restartWait is the longest that a request for a scope waits for a plugin that is
	// being restarted.
	restartWait time.Duration

	// How a watched directory settles. What is written in several steps is loaded once,
	// when nothing has happened for settle, and in a folder that never settles after
	// settleLongest.
	settle, settleLongest time.Duration
	// rescan is how long to wait for what the system does not tell of: that a binary is no
	// longer open for writing, or anything where it tells nothing.
	rescan time.Duration
}

var defaultTimes = times{
	start: 15 * time.Second, call: 2 * time.Minute, close: 5 * time.Second, drain: 5 * time.Second, health: 5 * time.Second,
	restartWindow: 10 * time.Minute, restartFirst: 100 * time.Millisecond, restartLongest: 30 * time.Second,
	exitGrace: time.Second, pipeGrace: 200 * time.Millisecond, restartWait: 5 * time.Second,
	settle: 30 * time.Millisecond, settleLongest: 2 * time.Second, rescan: time.Second,
}
