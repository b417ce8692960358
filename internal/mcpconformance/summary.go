package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// summary is the result of a leg, in scenarios.
type summary struct {
	scored, passed      int // that the revision requires
	others, otherPassed int // that the suite runs and does not score
}

// required reads which scenarios a revision requires of a side: the lines below the
// side's name in the suite's own file.
func (s *suite) required(side, revision string) (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(s.script)), "requirements", revision+".yaml"))
	if err != nil {
		return nil, err
	}
	names, section := map[string]bool{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if name, ok := strings.CutSuffix(line, ":"); ok && !strings.HasPrefix(line, " ") {
			section = name
		}
		if name, ok := strings.CutPrefix(line, "  - "); ok && section == side {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the suite has no requirements of %s for %s", side, revision)
	}
	return names, nil
}

var (
	scenarioLine = regexp.MustCompile(`^(✓|✗) ([a-zA-Z0-9_/-]+): \d+ passed, \d+ failed`)
	summaryLine  = regexp.MustCompile(`(?m)^=== (SUITE )?SUMMARY ===$`)
	colors       = regexp.MustCompile("\x1b\\[[0-9;]*m")
)

// parse reads the summary at the end of what the suite said: a line for each scenario.
func parse(text string, required map[string]bool) summary {
	end := ""
	if at := summaryLine.FindStringIndex(text); at != nil {
		end = text[at[1]:]
	}
	var s summary
	for line := range strings.Lines(end) {
		m := scenarioLine.FindStringSubmatch(colors.ReplaceAllString(line, ""))
		if m == nil {
			continue
		}
		count, passed := &s.others, &s.otherPassed
		if required[m[2]] {
			count, passed = &s.scored, &s.passed
		}
		*count++
		if m[1] == "✓" {
			*passed++
		}
	}
	return s
}
