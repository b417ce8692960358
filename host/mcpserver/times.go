package mcpserver

import "time"

// times are what a server waits for, and has its clients wait for. Tests wait for less.
type times struct {
	taskPoll  time.Duration // between two questions of a client about a task
	taskAfter time.Duration // how long a call takes that becomes a task then
	taskHold  time.Duration // how long tasks/get waits for news

	driveStep time.Duration // of one wait
	driveFor  time.Duration // how long a run is driven after its client has asked last
	driveRest time.Duration // between two waits
	keepRest  time.Duration // between two attempts to store what a wait has returned

	// serversWait is how long after its start a server waits, with its answers about tools,
	// for upstream servers with tools that are not known.
	serversWait time.Duration
	// heartbeat is how often a client that follows a program hears that it still runs, so that
	// the client keeps waiting.
	heartbeat time.Duration
	// lastAnswers is how long requests that came before the end of a stream may take to be
	// answered. A program that pipes its requests in has ended its stream by then; a client
	// that is gone reads no answer.
	lastAnswers time.Duration
}

var defaultTimes = times{
	taskPoll: time.Second, taskAfter: 10 * time.Second, taskHold: 500 * time.Millisecond,
	driveStep: 10 * time.Second, driveFor: time.Minute, driveRest: 100 * time.Millisecond, keepRest: time.Second,
	serversWait: 2 * time.Second, heartbeat: 15 * time.Second, lastAnswers: 10 * time.Second,
}
