package host

import (
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/timing"
)

// times are what a host and its runs wait for. The times for other hosts are in ClusterConfig.
type times struct {
	Runs timing.Times
	Own  ownTimes
}

// ownTimes are the times of a host itself.
type ownTimes struct {
	// DrainTimeout is the default of Config.DrainTimeout, and MCPWait of MCPConfig.Wait.
	DrainTimeout, MCPWait time.Duration
	// PluginDrain bounds how long Close waits for calls of plugins. It has drained and
	// cancelled them all by then.
	PluginDrain time.Duration
	// ClusterGrace is how long Close waits for the answers to other hosts, once their runs
	// have been suspended.
	ClusterGrace time.Duration
	// FollowEvery is how often Follow looks for hosts that it does not follow yet.
	FollowEvery time.Duration
	// FollowWait bounds how long Follow waits for the hosts that there are.
	FollowWait time.Duration
}

var defaultTimes = times{timing.Defaults, ownTimes{
	DrainTimeout: 5 * time.Second,
	MCPWait:      5 * time.Second,
	PluginDrain:  time.Second,
	ClusterGrace: 2 * time.Second,
	FollowEvery:  time.Second,
	FollowWait:   3 * time.Second,
}}
