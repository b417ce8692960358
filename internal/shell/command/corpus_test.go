package command

import (
	"slices"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// TestEvasions: an allow-list of programs that read lets nothing else through, however
// it is written. Every program of the lines is there, so that no line is refused because
// a machine lacks it.
func TestEvasions(t *testing.T) {
	dir := programs(t, probe)
	j := newJudge(t, func(s *settings.Settings) { s.Path = []string{dir}; realistic(s) })
	lines, classes := corpus(t, "evasions.txt")
	if len(lines) < 700 {
		t.Errorf("there are %d lines, want 700 or more", len(lines))
	}
	for i, line := range lines {
		g := j.Judge(line, nil)
		if g.Allowed {
			t.Errorf("%s: %q is allowed as %s", classes[i], line, g.Line)
		}
		if len(g.Reasons) == 0 {
			t.Errorf("%s: %q is refused without a reason", classes[i], line)
		}
	}
	unique := slices.Clone(lines)
	slices.Sort(unique)
	if n := len(slices.Compact(unique)); n != len(lines) {
		t.Errorf("%d lines are there twice", len(lines)-n)
	}
}

// TestHarmless: the same allow-list lets commands that only read through.
func TestHarmless(t *testing.T) {
	dir := programs(t, probe)
	j := newJudge(t, func(s *settings.Settings) { s.Path = []string{dir}; realistic(s) })
	lines, classes := corpus(t, "harmless.txt")
	if len(lines) < 200 {
		t.Errorf("there are %d lines, want 200 or more", len(lines))
	}
	for i, line := range lines {
		if g := j.Judge(line, nil); !g.Allowed {
			t.Errorf("%s: %q: %q", classes[i], line, g.Reasons)
		}
	}
}
