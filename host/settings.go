package host

import (
	"time"

	"github.com/quoinhq/quoin/guestrt"
)

// Settings are the limits of code mode. The zero value of each field means its
// default; a value outside its range is clamped to the nearer end.
type Settings struct {
	// Disabled refuses every Exec. Configuration files say enabled instead.
	Disabled bool
	// Languages are those a cell may be written in. Defaults to both.
	Languages []string
	// Isolation says what happens where the system lacks layers of the guest's
	// sandbox. Defaults to IsolationRequired: New fails and names what is missing.
	Isolation IsolationPolicy
	// Timeout bounds one Exec or Wait. Defaults to 10 s; 100 ms to 60 s.
	Timeout time.Duration
	// CPUBudget bounds the processor time of one run, all its Execs and Waits
	// together. Defaults to 60 s; 100 ms to 1 h.
	CPUBudget time.Duration
	// MemoryLimit bounds the guest heap in bytes. Defaults to 64 MiB; 1 MiB to 1 GiB.
	MemoryLimit int64
	// MaxOutput bounds output and value of one result together, in bytes of
	// compact JSON. Defaults to 64 KiB; 1 KiB to 10 MiB.
	MaxOutput int64
	// OnOutputLimit is what happens beyond MaxOutput: OutputFail (the default)
	// or OutputTruncate.
	OnOutputLimit OutputPolicy
	// MaxSnapshot bounds the stored image of a suspended run in bytes. Defaults
	// to 10 MiB; 1 KiB to 256 MiB.
	MaxSnapshot int64
	// MaxPendingCalls bounds the tool calls of one run in flight. Defaults to 16;
	// 1 to 128. 128 more wait in a queue.
	MaxPendingCalls int64
	// MaxApprovals bounds how often one run may ask people for an approval.
	// Defaults to 100; 1 to 10,000. Whatever it is, a run asks at most 40 times in
	// 10 s.
	MaxApprovals int64
	// SnapshotTTL is how long a suspended run is kept after its last use.
	// Defaults to 15 minutes; 1 s to 24 h.
	SnapshotTTL time.Duration
	// MaxSuspended bounds the suspended runs. Defaults to 64; 1 to 1,000,000.
	MaxSuspended int64
	// SearchLimit is the number of results of a search that names none. Defaults
	// to 8; at most MaxSearchLimit.
	SearchLimit int64
	// MaxSearchLimit bounds the results of one search. Defaults to 50; 1 to 50.
	MaxSearchLimit int64
	// Models say which models get code mode, by model id, in which "*" stands for
	// any characters. Of several that match, the most exact counts. A model
	// without an entry gets it.
	Models map[string]Activation
	// AutoMinTools is how many tools there must be for code mode with models that
	// have ActivationAuto. Defaults to 20; 1 to 10,000.
	AutoMinTools int64
}

// IsolationPolicy says how much of the guest's sandbox a host insists on. What
// each policy needs is documented with package guestrt's Isolation.
type IsolationPolicy = guestrt.Isolation

// The isolation policies.
const (
	IsolationRequired   = guestrt.IsolationRequired   // no sandbox to rely on, no host
	IsolationStrict     = guestrt.IsolationStrict     // nor without control groups
	IsolationBestEffort = guestrt.IsolationBestEffort // results state what there is
)

// OutputPolicy says what happens to a cell that emits more than MaxOutput.
type OutputPolicy string

// The output policies.
const (
	OutputFail     OutputPolicy = "fail"     // the run fails with output_limit_exceeded
	OutputTruncate OutputPolicy = "truncate" // the run goes on; a marker says what is missing
)

// queuedCalls may wait for a free slot beside the calls in flight.
const queuedCalls = 128

// span is the default and range of one numeric setting.
type span struct{ def, min, max int64 }

var (
	timeoutSpan     = span{10_000, 100, 60_000}    // milliseconds
	cpuSpan         = span{60_000, 100, 3_600_000} // milliseconds
	memorySpan      = span{64 << 20, 1 << 20, 1 << 30}
	outputSpan      = span{64 << 10, 1 << 10, 10 << 20}
	snapshotSpan    = span{10 << 20, 1 << 10, 256 << 20}
	pendingSpan     = span{16, 1, 128}
	approvalSpan    = span{100, 1, 10_000}
	ttlSpan         = span{900, 1, 86_400} // seconds
	suspendedSpan   = span{64, 1, 1_000_000}
	searchSpan      = span{8, 1, 50}
	maxSearchSpan   = span{50, 1, 50}
	autoSpan        = span{20, 1, 10_000}
	allLanguages    = []string{languageJavaScript, languageTypeScript}
	defaultOnOutput = OutputFail
)

const (
	languageJavaScript = "javascript"
	languageTypeScript = "typescript"
)

// of returns v inside the range, or the default for zero.
func (s span) of(v int64) int64 {
	if v == 0 {
		return s.def
	}
	return min(max(v, s.min), s.max)
}

// time is of for a duration in whole units, rounded up so that a short one is not
// mistaken for none.
func (s span) time(d, unit time.Duration) time.Duration {
	return time.Duration(s.of(int64((d+unit-1)/unit))) * unit
}

// duration is v milliseconds.
func (span) duration(v int64) time.Duration { return time.Duration(v) * time.Millisecond }

// resolved returns s with every default filled in and every value in range.
func (s Settings) resolved() Settings {
	if len(s.Languages) == 0 {
		s.Languages = allLanguages
	}
	if s.OnOutputLimit == "" {
		s.OnOutputLimit = defaultOnOutput
	}
	s.Timeout = timeoutSpan.time(s.Timeout, time.Millisecond)
	s.CPUBudget = cpuSpan.time(s.CPUBudget, time.Millisecond)
	s.MemoryLimit = memorySpan.of(s.MemoryLimit)
	s.MaxOutput = outputSpan.of(s.MaxOutput)
	s.MaxSnapshot = snapshotSpan.of(s.MaxSnapshot)
	s.MaxPendingCalls = pendingSpan.of(s.MaxPendingCalls)
	s.MaxApprovals = approvalSpan.of(s.MaxApprovals)
	s.SnapshotTTL = ttlSpan.time(s.SnapshotTTL, time.Second)
	s.MaxSuspended = suspendedSpan.of(s.MaxSuspended)
	s.MaxSearchLimit = maxSearchSpan.of(s.MaxSearchLimit)
	s.AutoMinTools = autoSpan.of(s.AutoMinTools)
	s.SearchLimit = min(searchSpan.of(s.SearchLimit), s.MaxSearchLimit)
	return s
}

// settingsOf returns the settings that hold for runs of a session.
func (h *Host) settingsOf(s Session) Settings {
	if own, ok := h.agents[s.AgentID]; ok {
		return own
	}
	return h.settings
}
