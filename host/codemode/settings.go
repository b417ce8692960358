package codemode

import "time"

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
	// Timeout bounds how long a program may compute in one go, until it waits for a call
	// or a timer. What it waits for does not count. Defaults to 10 s; 100 ms to 60 s.
	Timeout time.Duration
	// Wait bounds how long an Exec or Wait may take before it says that the program is
	// still waiting, and is what callers get that do not say. A program that computes at that
	// moment continues until it waits. Defaults to 15 minutes; 100 ms to 1 h.
	Wait time.Duration
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
	// 1 to 128. MaxQueuedCalls more wait in a queue.
	MaxPendingCalls int64
	// MaxApprovals bounds how often one run may ask people for an approval.
	// Defaults to 100; 1 to 10,000. Whatever it is, a run asks at most 40 times in
	// 10 s.
	MaxApprovals int64
	// SnapshotTTL is how long a suspended run is kept after its last use, and after the
	// question to a person or the timer that it waits for. Defaults to 15 minutes; 1 s to
	// 30 days.
	SnapshotTTL time.Duration
	// UndoTTL is how long it is kept how the calls of a run are undone, from the first
	// of them on. Defaults to 7 days; 1 s to 30 days.
	UndoTTL time.Duration
	// MaxSuspended bounds the suspended runs. Defaults to 64; 1 to 1,000,000.
	MaxSuspended int64
	// SearchLimit is the number of results of a search without a limit. Defaults
	// to 8; at most MaxSearchLimit.
	SearchLimit int64
	// MaxSearchLimit bounds the results of one search. Defaults to 50; 1 to 50.
	MaxSearchLimit int64
	// Models say which models get code mode, by model id. A "*" in an id stands for
	// any characters, and the most exact id counts. A model without an entry gets
	// code mode.
	Models map[string]Activation
	// AutoShare is the share of a model's context window that its tools have to cost,
	// each shown to it, for code mode with ActivationAuto. In percent. Defaults to 2; 1
	// to 100.
	AutoShare int64
	// ContextWindow is the context window, in tokens, of models that have no known window.
	// Defaults to 200,000; 1,000 to 100,000,000.
	ContextWindow int64
}

// IsolationPolicy says how much of the guest's sandbox a host insists on. Package
// guestrt's Isolation documents what each policy needs.
type IsolationPolicy string

// The isolation policies.
const (
	IsolationRequired   IsolationPolicy = "required"    // a host without a full sandbox does not start
	IsolationStrict     IsolationPolicy = "strict"      // nor does one without control groups
	IsolationBestEffort IsolationPolicy = "best-effort" // results state which layers there are
)

// OutputPolicy says what happens to a cell that emits more than MaxOutput.
type OutputPolicy string

// The output policies.
const (
	OutputFail     OutputPolicy = "fail"     // the run fails with output_limit_exceeded
	OutputTruncate OutputPolicy = "truncate" // the run continues; a marker says what is missing
)

// The languages of Settings.Languages.
const (
	LanguageJavaScript = "javascript"
	LanguageTypeScript = "typescript"
)

// Languages returns every language a cell can be written in.
func Languages() []string { return []string{LanguageJavaScript, LanguageTypeScript} }

// MaxQueuedCalls is how many calls of one run may wait for a free slot, in addition to
// the MaxPendingCalls in flight. A program can await as many calls at once as it likes: its
// 4,097th is refused by the guest itself, alone and so that the program can catch it.
const MaxQueuedCalls = 4000

// WithDefaults returns s with every default filled in and every value in its range.
func (s Settings) WithDefaults() Settings {
	r := &settingRanges
	if len(s.Languages) == 0 {
		s.Languages = Languages()
	}
	if s.OnOutputLimit == "" {
		s.OnOutputLimit = OutputFail
	}
	s.Timeout = r.Timeout.duration(s.Timeout, time.Millisecond)
	s.Wait = r.Wait.duration(s.Wait, time.Millisecond)
	s.CPUBudget = r.CPUBudget.duration(s.CPUBudget, time.Millisecond)
	s.MemoryLimit = r.MemoryLimit.clamp(s.MemoryLimit)
	s.MaxOutput = r.MaxOutput.clamp(s.MaxOutput)
	s.MaxSnapshot = r.MaxSnapshot.clamp(s.MaxSnapshot)
	s.MaxPendingCalls = r.MaxPendingCalls.clamp(s.MaxPendingCalls)
	s.MaxApprovals = r.MaxApprovals.clamp(s.MaxApprovals)
	s.SnapshotTTL = r.SnapshotTTL.duration(s.SnapshotTTL, time.Second)
	s.UndoTTL = r.UndoTTL.duration(s.UndoTTL, time.Second)
	s.MaxSuspended = r.MaxSuspended.clamp(s.MaxSuspended)
	s.MaxSearchLimit = r.MaxSearchLimit.clamp(s.MaxSearchLimit)
	s.AutoShare = r.AutoShare.clamp(s.AutoShare)
	s.ContextWindow = r.ContextWindow.clamp(s.ContextWindow)
	s.SearchLimit = min(r.SearchLimit.clamp(s.SearchLimit), s.MaxSearchLimit)
	return s
}

// ComputeTime returns how long a program may compute in one go. A caller can shorten it;
// zero asks for Settings.Timeout.
func (s Settings) ComputeTime(want time.Duration) time.Duration {
	if want <= 0 {
		return s.Timeout
	}
	return min(max(want, time.Duration(settingRanges.Timeout.Min)*time.Millisecond), s.Timeout)
}

// WaitTime returns how long one exec or wait may take before it says that its program is
// still waiting. A caller can shorten it; zero asks for Settings.Wait.
func (s Settings) WaitTime(want time.Duration) time.Duration {
	if want <= 0 {
		return s.Wait
	}
	return min(want, s.Wait)
}
