package main

import "testing"

// TestParse counts what the suite prints, with the colors of a terminal and without.
func TestParse(t *testing.T) {
	text := "✓ tools-list: 1 passed, 0 failed\n=== SUMMARY ===\n\x1b[32m✓\x1b[0m tools-list: 3 passed, 0 failed\n" +
		"✗ auth/basic_cimd: 1 passed, 1 failed\n✓ ping: 2 passed, 0 failed\n✗ tasks-lifecycle: 1 passed, 8 failed\n\nTotal: 7 passed, 9 failed\n"
	got := parse(text, map[string]bool{"tools-list": true, "auth/basic_cimd": true})
	if want := (summary{scored: 2, passed: 1, others: 2, otherPassed: 1}); got != want {
		t.Errorf("got %+v, expected %+v", got, want)
	}
	if got := parse("=== SUITE SUMMARY ===\n\n✓ initialize: 1 passed, 0 failed\n", map[string]bool{"initialize": true}); got != (summary{scored: 1, passed: 1}) {
		t.Errorf("of a client leg: %+v", got)
	}
}
