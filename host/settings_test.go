package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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
		CPUBudget:       time.Minute,
		MemoryLimit:     64 << 20,
		MaxOutput:       64 << 10,
		OnOutputLimit:   OutputFail,
		MaxSnapshot:     10 << 20,
		MaxPendingCalls: 16,
		SnapshotTTL:     15 * time.Minute,
		MaxSuspended:    64,
		SearchLimit:     8,
		MaxSearchLimit:  50,
	}
	low, high := defaults, defaults
	low.Timeout, low.MemoryLimit, low.MaxOutput, low.MaxSnapshot = 100*time.Millisecond, 1<<20, 1<<10, 1<<10
	low.CPUBudget, high.CPUBudget = 100*time.Millisecond, time.Hour
	low.MaxPendingCalls, low.SnapshotTTL, low.MaxSuspended, low.SearchLimit, low.MaxSearchLimit = 1, time.Second, 1, 1, 1
	high.Timeout, high.MemoryLimit, high.MaxOutput, high.MaxSnapshot = time.Minute, 1<<30, 10<<20, 256<<20
	high.MaxPendingCalls, high.SnapshotTTL, high.MaxSuspended, high.SearchLimit, high.MaxSearchLimit = 128, 24*time.Hour, 1_000_000, 50, 50
	all := func(d time.Duration, n int64) Settings {
		return Settings{
			Timeout: d, CPUBudget: d, MemoryLimit: n, MaxOutput: n, MaxSnapshot: n, MaxPendingCalls: n,
			SnapshotTTL: d, MaxSuspended: n, SearchLimit: n, MaxSearchLimit: n,
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
			if d := cmp.Diff(tc.want, tc.in.resolved()); d != "" {
				t.Errorf("resolved (-want +got):\n%s", d)
			}
		})
	}
	if got := (Settings{SearchLimit: 40, MaxSearchLimit: 20}).resolved().SearchLimit; got != 20 {
		t.Errorf("search limit %d, want it clamped to the 20 of the maximum", got)
	}
}

func TestLoadFile(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       func(*Settings)
	}{
		{"empty object", `{}`, func(s *Settings) { s.Disabled = true }},
		{"shorthand", `{tools:{codeMode:true}}`, func(*Settings) {}},
		{"shorthand off", `{tools:{codeMode:false}}`, func(s *Settings) { s.Disabled = true }},
		{"not enabled", `{tools:{codeMode:{timeoutMs:500}}}`, func(s *Settings) { s.Disabled, s.Timeout = true, 500*time.Millisecond }},
		{"everything", `{
			// comment
			tools: { codeMode: {
				enabled: true, runtime: "quickjs", mode: 'only', languages: ["typescript"], timeoutMs: 500, cpuBudgetMs: 700, memoryLimitBytes: 2e6,
				maxOutputBytes: 2000, maxSnapshotBytes: 3000, maxPendingToolCalls: 3, snapshotTtlSeconds: 4, maxSuspendedRuns: 5,
				searchDefaultLimit: 6, maxSearchLimit: 7, onOutputLimit: "truncate", isolation: "best-effort",
			} },
		}`, func(s *Settings) {
			*s = Settings{
				Languages: []string{"typescript"}, Timeout: 500 * time.Millisecond, CPUBudget: 700 * time.Millisecond, MemoryLimit: 2e6, MaxOutput: 2000,
				Isolation: IsolationBestEffort, OnOutputLimit: OutputTruncate, MaxSnapshot: 3000, MaxPendingCalls: 3, SnapshotTTL: 4 * time.Second,
				MaxSuspended: 5, SearchLimit: 6, MaxSearchLimit: 7,
			}
		}},
		{"out of range is clamped", `{tools:{codeMode:{enabled:true,timeoutMs:0,maxPendingToolCalls:1e300}}}`, func(s *Settings) {
			s.Timeout, s.MaxPendingCalls = 100*time.Millisecond, 128
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want Settings
			tc.want(&want)
			got, err := LoadFile(write(t, tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got.Settings); d != "" {
				t.Errorf("settings (-want +got):\n%s", d)
			}
		})
	}
}

func TestLoadFileRefusals(t *testing.T) {
	for _, tc := range []struct{ name, text, field, want string }{
		{"broken text", `{`, "the text", "JSON5"},
		{"no text", ``, "the text", "JSON5"},
		{"a list", `[]`, "the file", "an object"},
		{"unknown part", `{tool:{}}`, "tool", "no such field"},
		{"unknown field", `{tools:{codeMode:{timeout:1}}}`, "tools.codeMode.timeout", "no such field"},
		{"text for a number", `{tools:{codeMode:{timeoutMs:"10s"}}}`, "tools.codeMode.timeoutMs", "an integer from 100 to 60000"},
		{"no policy", `{tools:{codeMode:{isolation:"none"}}}`, "tools.codeMode.isolation", "required, best-effort"},
		{"fraction", `{tools:{codeMode:{timeoutMs:100.5}}}`, "tools.codeMode.timeoutMs", "an integer"},
		{"not a number", `{tools:{codeMode:{timeoutMs:NaN}}}`, "tools.codeMode.timeoutMs", "an integer"},
		{"number for a flag", `{tools:{codeMode:{enabled:1}}}`, "tools.codeMode.enabled", "true or false"},
		{"text for code mode", `{tools:{codeMode:"true"}}`, "tools.codeMode", "an object"},
		{"another runtime", `{tools:{codeMode:{runtime:"v8"}}}`, "tools.codeMode.runtime", "quickjs"},
		{"another mode", `{tools:{codeMode:{mode:"also"}}}`, "tools.codeMode.mode", "only"},
		{"no languages", `{tools:{codeMode:{languages:[]}}}`, "tools.codeMode.languages", "non-empty"},
		{"another language", `{tools:{codeMode:{languages:["javascript","python"]}}}`, "tools.codeMode.languages[1]", "typescript"},
		{"another policy", `{tools:{codeMode:{onOutputLimit:"ignore"}}}`, "tools.codeMode.onOutputLimit", "fail, truncate"},
		{"guest path", `{guest:{path:7}}`, "guest.path", "a string"},
		{"plugin configurations", `{plugins:{config:[]}}`, "plugins.config", "plugin id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := LoadFile(write(t, tc.text))
			var ce *ConfigError
			if !errors.As(err, &ce) || ce.Field != tc.field || !strings.Contains(ce.Want, tc.want) {
				t.Errorf("got %v, want field %s and %q", err, tc.field, tc.want)
			}
		})
	}
	if _, err := LoadFile(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("an absent file was read")
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "quoin.json5")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// FuzzLoadFile: whatever a file holds, it is read or refused.
func FuzzLoadFile(f *testing.F) {
	for _, s := range []string{`{}`, `{tools:{codeMode:{enabled:true}}}`, `{tools:{codeMode:{timeoutMs:-0}}}`, "\x00", `{a:'\u2028'}`} {
		f.Add(s)
	}
	name := filepath.Join(f.TempDir(), "quoin.json5")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := LoadFile(name); (c == nil) == (err == nil) {
			t.Errorf("LoadFile returned %v and %v", c, err)
		}
	})
}
