package codemode

import "time"

// Range is the default, the least and the greatest value of a numeric setting.
type Range struct{ Default, Min, Max int64 }

// SettingRanges are the ranges of the numeric settings, by the name of their field.
type SettingRanges struct {
	Timeout, Wait, CPUBudget                               Range // milliseconds
	SnapshotTTL, UndoTTL                                   Range // seconds
	MemoryLimit, MaxOutput, MaxSnapshot                    Range // bytes
	MaxPendingCalls, MaxApprovals, MaxSuspended            Range
	SearchLimit, MaxSearchLimit                            Range
	AutoShare                                              Range // percent
	ContextWindow                                          Range // tokens
	QuotaSessionPercent, QuotaAgentPercent, QuotaHeldBytes Range
	QuotaStoredBytes, QuotaCalls, QuotaCPU                 Range // the last in seconds
}

var settingRanges = SettingRanges{
	Timeout:         Range{10_000, 100, 60_000},
	Wait:            Range{900_000, 100, 3_600_000},
	CPUBudget:       Range{60_000, 100, 3_600_000},
	SnapshotTTL:     Range{900, 1, 2_592_000},
	UndoTTL:         Range{604_800, 1, 2_592_000},
	MemoryLimit:     Range{64 << 20, 1 << 20, 1 << 30},
	MaxOutput:       Range{64 << 10, 1 << 10, 10 << 20},
	MaxSnapshot:     Range{10 << 20, 1 << 10, 256 << 20},
	MaxPendingCalls: Range{16, 1, 128},
	MaxApprovals:    Range{100, 1, 10_000},
	MaxSuspended:    Range{64, 1, 1_000_000},
	SearchLimit:     Range{8, 1, 50},
	MaxSearchLimit:  Range{50, 1, 50},
	AutoShare:       Range{2, 1, 100},
	ContextWindow:   Range{200_000, 1_000, 100_000_000},

	QuotaSessionPercent: Range{50, 1, 100},
	QuotaAgentPercent:   Range{100, 1, 100},
	QuotaHeldBytes:      Range{1 << 30, 16 << 20, 1 << 40},
	QuotaStoredBytes:    Range{64 << 30, 1 << 20, 1 << 50},
	QuotaCalls:          Range{16_384, 1, 1_000_000},
	QuotaCPU:            Range{1_000_000, 1, 1_000_000_000},
}

// Ranges returns the ranges of all numeric settings, for schemas and documentation.
func Ranges() SettingRanges { return settingRanges }

// clamp returns v inside the range, or the default for zero.
func (r Range) clamp(v int64) int64 {
	if v == 0 {
		return r.Default
	}
	return min(max(v, r.Min), r.Max)
}

// duration clamps d in whole units. It rounds up, so that a short duration does not
// become zero and then the default.
func (r Range) duration(d, unit time.Duration) time.Duration {
	return time.Duration(r.clamp(int64((d+unit-1)/unit))) * unit
}

// Quotas bound what a host holds, and what one session or agent may have of it. The
// zero value of each field means its default; a value outside its range is clamped.
type Quotas struct {
	// SessionPercent is the share that one session may have of each: suspended runs,
	// guest workers, pending approvals, what the other fields bound, and what a server
	// adds. Defaults
	// to 50; 1 to 100. Callers without an identity are one session.
	SessionPercent int64
	// AgentPercent is the share that all sessions of one agent may have together.
	// Defaults to 100; 1 to 100.
	AgentPercent int64
	// HeldBytes bounds what all runs make the host hold in memory: arguments, answers,
	// output and images, in bytes. Defaults to 1 GiB; 16 MiB to 1 TiB. Each guest
	// worker may send one message on top.
	HeldBytes int64
	// StoredBytes bounds the images of the suspended runs that this host has stored, in
	// bytes. Defaults to 64 GiB; 1 MiB to 1 PiB.
	StoredBytes int64
	// Calls bounds the tool calls of all runs that are in flight at one moment. Defaults
	// to 16,384; 1 to 1,000,000.
	Calls int64
	// CPUSecondsPerHour bounds the processor time of all guests in any hour, in seconds.
	// What it is used up by ends, or is suspended; nothing starts until some of it is over.
	// Defaults to 1,000,000; 1 to 1,000,000,000.
	CPUSecondsPerHour int64
}

// WithDefaults returns q with every default filled in and every value in its range.
func (q Quotas) WithDefaults() Quotas {
	q.SessionPercent = settingRanges.QuotaSessionPercent.clamp(q.SessionPercent)
	q.AgentPercent = settingRanges.QuotaAgentPercent.clamp(q.AgentPercent)
	q.HeldBytes = settingRanges.QuotaHeldBytes.clamp(q.HeldBytes)
	q.StoredBytes = settingRanges.QuotaStoredBytes.clamp(q.StoredBytes)
	q.Calls = settingRanges.QuotaCalls.clamp(q.Calls)
	q.CPUSecondsPerHour = settingRanges.QuotaCPU.clamp(q.CPUSecondsPerHour)
	return q
}
