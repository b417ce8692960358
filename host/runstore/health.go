package runstore

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable says that a store over a network does not answer, or takes no writes. The
// operation may have happened all the same. It is worth trying again later.
var ErrUnavailable = errors.New("the store of runs does not answer")

// HealthState is how a store does.
type HealthState string

// The states of a store. While it is read-only or gone, a host suspends no run: what needs no
// store continues.
const (
	HealthOK       HealthState = "ok"
	HealthSlow     HealthState = "slow"      // it answers, and takes long for it
	HealthReadOnly HealthState = "read_only" // it answers, and takes no writes
	HealthGone     HealthState = "gone"      // it does not answer
)

// Works reports whether the store takes writes.
func (s HealthState) Works() bool { return s == HealthOK || s == HealthSlow }

// Health is what a host has last seen of its store.
type Health struct {
	State     HealthState
	RoundTrip time.Duration // of the newest small write, which may still wait for its answer
	Takeovers uint64        // runs that this host has claimed from hosts that had gone
	DueLag    time.Duration // for how long a run was due that nothing had taken up, when Due was last asked
}

// Monitored is implemented by stores that can be away while their host runs.
type Monitored interface {
	// Health says how the store does. It is cheap: it looks at what the host does anyway,
	// and waits for nothing but a first look, which ctx bounds.
	Health(ctx context.Context) Health
}
