package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/servecmd"
	"github.com/quoinhq/quoin/host/internal/configfile"
)

// page reads one of the documents.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// codeBlock returns the first block of a language in a document.
func codeBlock(t *testing.T, text, language string) string {
	t.Helper()
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("there is no block of %s", language)
	}
	return m[1]
}

// TestOperatingUnit: the unit of docs/guide/operating.md starts a server as it is, with a
// configuration that is usable, and gives it the time that it takes to end.
func TestOperatingUnit(t *testing.T) {
	t.Parallel()
	text := page(t, "guide/operating")
	unit := map[string]string{}
	for line := range strings.Lines(codeBlock(t, text, "ini")) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			unit[key] = value
		}
	}
	args := strings.Fields(unit["ExecStart"])
	cmd, rest, err := newRoot().Find(args[1:])
	if err != nil || cmd.Name() != "serve" {
		t.Fatalf("%q is %v, %v", args, cmd, err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%q: %v", args, err)
	}
	if state := cmd.Flag("state"); state.Changed {
		t.Errorf("--state %s comes before a database in state.url", state.Value)
	}
	if bound, err := time.ParseDuration(unit["TimeoutStopSec"]); err != nil || bound <= servecmd.ShutdownBound {
		t.Errorf("TimeoutStopSec is %s (%v), want more than %s", unit["TimeoutStopSec"], err, servecmd.ShutdownBound)
	}
	for key, want := range map[string]string{"Type": "notify", "KillMode": "mixed", "Delegate": "memory pids", "OOMPolicy": "continue"} {
		if unit[key] != want {
			t.Errorf("%s is %q, want %q", key, unit[key], want)
		}
	}

	file := t.TempDir() + "/quoin.json5"
	if err := os.WriteFile(file, []byte(codeBlock(t, text, "json5")), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := configfile.Load(configfile.Sources{Path: file})
	if err != nil || f.Settings.Disabled || len(f.Report.Warnings) > 0 {
		t.Fatalf("the configuration: %v, %+v", err, f)
	}
	if want := "/var/lib/" + unit["StateDirectory"]; f.StateDir != want {
		t.Errorf("state.dir is %q, want the directory that the unit makes, %s", f.StateDir, want)
	}
}

// TestAlertsAreAboutMetrics: each metric of an alert is one that there is.
func TestAlertsAreAboutMetrics(t *testing.T) {
	t.Parallel()
	known := page(t, "reference/metrics")
	used := regexp.MustCompile(`quoin_\w+`).FindAllString(codeBlock(t, page(t, "guide/operating"), "yaml"), -1)
	slices.Sort(used)
	if used = slices.Compact(used); len(used) < 5 {
		t.Errorf("only %q", used)
	}
	for _, name := range used {
		if !strings.Contains(known, "| `"+name+"` |") {
			t.Errorf("there is no metric %s", name)
		}
	}
}
