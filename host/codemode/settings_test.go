package codemode

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSettingsDefaultsAndClamps pins the table of the contract: default, lower
// and upper end of every limit.
func TestSettingsDefaultsAndClamps(t *testing.T) {
	defaults := Settings{
		Languages:       []string{"javascript", "typescript"},
		Timeout:         10 * time.Second,
		Wait:            15 * time.Minute,
		CPUBudget:       time.Minute,
		MemoryLimit:     64 << 20,
		MaxOutput:       64 << 10,
		OnOutputLimit:   OutputFail,
		MaxSnapshot:     10 << 20,
		MaxPendingCalls: 16,
		MaxApprovals:    100,
		SnapshotTTL:     15 * time.Minute,
		UndoTTL:         7 * 24 * time.Hour,
		MaxSuspended:    64,
		SearchLimit:     8,
		MaxSearchLimit:  50,
		AutoShare:       2,
		ContextWindow:   200_000,
	}
	low, high := defaults, defaults
	low.Wait = 100 * time.Millisecond
	low.Timeout, low.MemoryLimit, low.MaxOutput, low.MaxSnapshot = 100*time.Millisecond, 1<<20, 1<<10, 1<<10
	low.CPUBudget, high.CPUBudget = 100*time.Millisecond, time.Hour
	low.MaxPendingCalls, low.SnapshotTTL, low.UndoTTL, low.MaxSuspended, low.SearchLimit, low.MaxSearchLimit = 1, time.Second, time.Second, 1, 1, 1
	high.Wait = time.Hour
	high.Timeout, high.MemoryLimit, high.MaxOutput, high.MaxSnapshot = time.Minute, 1<<30, 10<<20, 256<<20
	high.MaxPendingCalls, high.SnapshotTTL, high.UndoTTL, high.MaxSuspended, high.SearchLimit, high.MaxSearchLimit = 128, 30*24*time.Hour, 30*24*time.Hour, 1_000_000, 50, 50
	low.MaxApprovals, high.MaxApprovals = 1, 10_000
	low.AutoShare, high.AutoShare, low.ContextWindow, high.ContextWindow = 1, 100, 1_000, 100_000_000
	all := func(d time.Duration, n int64) Settings {
		return Settings{
			Timeout: d, Wait: d, CPUBudget: d, MemoryLimit: n, MaxOutput: n, MaxSnapshot: n, MaxPendingCalls: n, MaxApprovals: n,
			SnapshotTTL: d, UndoTTL: d, MaxSuspended: n, SearchLimit: n, MaxSearchLimit: n, AutoShare: n, ContextWindow: n,
		}
	}
	for _, tc := range []struct {
		name     string
		in, want Settings
	}{
		{"nothing given", Settings{}, defaults},
		{"below", all(-time.Hour, -1), low},
		{"just below", all(time.Millisecond, -5), low},
		{"above", all(1000*time.Hour, 1<<40), high},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, tc.in.WithDefaults()); d != "" {
				t.Errorf("resolved (-want +got):\n%s", d)
			}
		})
	}
	if got := (Settings{SearchLimit: 40, MaxSearchLimit: 20}).WithDefaults().SearchLimit; got != 20 {
		t.Errorf("search limit %d, want it clamped to the 20 of the maximum", got)
	}
}
