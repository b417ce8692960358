package codemode

import (
	"encoding/json"
	"time"
)

// RunStatus says what a run is doing.
type RunStatus string

// The statuses of a run that has not ended.
const (
	RunRunning RunStatus = "running" // an Exec or Wait of this process is driving it
	RunWaiting RunStatus = "waiting" // it is suspended, to the knowledge of this process
)

// RunInfo describes a run that has not ended.
type RunInfo struct {
	ID       string    `json:"runId"`
	Session  Session   `json:"session,omitzero"`
	Language string    `json:"language"`
	Status   RunStatus `json:"status"`
	// Reason says why a suspended run waits.
	Reason  Reason    `json:"reason,omitempty"`
	Created time.Time `json:"created"`
	// Expires is when a suspended run is forgotten unless someone waits for it, at the
	// earliest: a question or a timer that comes up until then prolongs it.
	Expires time.Time `json:"expires,omitzero"`
	// PendingToolCalls are the bridge calls that the program needs the answers of.
	PendingToolCalls []PendingCall `json:"pendingToolCalls"`
	// ImageBytes is the size of the newest image of the guest, 0 before the first.
	ImageBytes int `json:"imageBytes"`
	// GuestBuild is the build of the guest that suspended the run, in hexadecimal.
	GuestBuild string `json:"guestBuild,omitempty"`
	// GuestEngine is the id of the engine that suspended it: see Engine.
	GuestEngine string `json:"guestEngine,omitempty"`
	// Foreign says that this host does not have that build: see host.Config.Guests.
	Foreign bool `json:"foreign,omitempty"`
	// Origin is Config.Origin of the host that suspended the run.
	Origin []string `json:"-"`
}

// UpgradeOptions say how a host replays suspended runs. The zero value replays and stores them.
type UpgradeOptions struct {
	// DryRun replays runs and stores nothing: it finds out which of them can be upgraded. No
	// run is claimed, and hosts may continue the runs at the same time.
	DryRun bool
}

// UpgradedRun is a suspended run that a host has replayed on its own build of the guest, or has not.
type UpgradedRun struct {
	ID string `json:"runId"`
	// From is the build of the guest that had suspended it, in hexadecimal.
	From string `json:"from"`
	// Err is why the run stays as it was: it is in use, cannot be replayed, or the program took
	// another path. Nil: the run belongs to this host's build.
	Err error `json:"-"`
}

// ToolAnswer is a caller's answer to a call of one of its own tools.
type ToolAnswer struct {
	// Value is the result as JSON; empty means null.
	Value json.RawMessage
	// Error, if not empty, rejects the call in the guest with this message.
	Error string
}
