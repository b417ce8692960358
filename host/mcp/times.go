package mcp

import "time"

// times are what a host waits for at its servers. Tests wait for less.
type times struct {
	firstDelay, maxDelay, refreshDelay, stopTimeout time.Duration // unless Options says so

	pinCheck    time.Duration // how often the pins are looked at while tools wait to be accepted
	signInCheck time.Duration // how often a server that waits for a sign-in looks for one that another process has made

	discoverWait time.Duration // how long a server may leave server/discover unanswered before it gets initialize
	probeTimeout time.Duration // bounds one attempt to reach a server
	endGrace     time.Duration // how long after its output a program may take to end, so that its end explains the end of the connection
	pipeGrace    time.Duration // how long output is still read after a program is gone, for a descendant that left its group and holds the pipes

	emptyRound, maxEmptyRound time.Duration // how long a call that was put off waits first; it doubles

	minPoll, defPoll, maxPoll time.Duration // between two questions about a task
	maxTaskLife               time.Duration // however long the server would keep it
	taskStop                  time.Duration // bounds the request that cancels a task
}

var defaultTimes = times{
	firstDelay: time.Second, maxDelay: time.Minute, refreshDelay: time.Second, stopTimeout: 2 * time.Second,
	pinCheck: time.Second, signInCheck: 500 * time.Millisecond,
	discoverWait: 2 * time.Second, probeTimeout: time.Second, endGrace: 2 * time.Second, pipeGrace: 200 * time.Millisecond,
	emptyRound: 10 * time.Millisecond, maxEmptyRound: time.Second,
	minPoll: 100 * time.Millisecond, defPoll: time.Second, maxPoll: time.Minute,
	maxTaskLife: maxNamed, taskStop: 5 * time.Second,
}
