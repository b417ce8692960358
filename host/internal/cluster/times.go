package cluster

import "time"

// Times are those in which hosts notice what became of each other.
type Times struct {
	// DialTimeout bounds how long a host connects to another.
	DialTimeout time.Duration
	// PingAfter is how long there is no word of the other side until a ping asks for one, and
	// PingTimeout bounds the time for the answer.
	PingAfter, PingTimeout time.Duration
	// IdleTimeout is how long a connection is kept that is not used.
	IdleTimeout time.Duration

	// HeaderTimeout and BodyTimeout bound how long a host reads a request.
	HeaderTimeout, BodyTimeout time.Duration

	// CheckEvery is how often a host looks for faults of the cluster, and SuspectEvery how
	// often while a host does not answer and may be merely gone.
	CheckEvery, SuspectEvery time.Duration
}

// DefaultTimes are the times of a host.
var DefaultTimes = Times{
	DialTimeout: time.Second,
	PingAfter:   time.Second,
	PingTimeout: 2 * time.Second,
	IdleTimeout: time.Minute,

	HeaderTimeout: 10 * time.Second,
	BodyTimeout:   30 * time.Second,

	CheckEvery:   15 * time.Second,
	SuspectEvery: time.Second,
}
