package main

import "testing"

// TestWhatPeopleDecideAboutIsVisible: no letter of an input looks like nothing.
func TestWhatPeopleDecideAboutIsVisible(t *testing.T) {
	for text, want := range map[string]string{
		"a\u3164b": `a\u3164b`, "\u115f": `\u115f`, "\u2800x": `\u2800x`, "x\ufe0f": `x\ufe0f`, "\uffa0": `\uffa0`,
		"\u202e": `\u202e`, "\u200b": `\u200b`, "grün \"x\" 漢": `grün "x" 漢`,
	} {
		if got := escaped(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}
