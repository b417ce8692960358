package repotest

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// requirement is one rule of the MCP specification with what holds us to it.
type requirement struct {
	line int
	held int // by how many tests, scenarios and reasons
}

// requirementPart are the rules of one topic.
type requirementPart struct{ rules []requirement }

// suiteScenario is a scenario of the conformance suite, of a server or a client.
var suiteScenario = regexp.MustCompile(`^suite (server|client)/([a-z0-9/-]+)$`)

// parseRequirements reads testdata/mcp-requirements.txt, which has the form of
// contract.txt. It returns the tests that it names, by the lines of their rules.
func parseRequirements(text string) (parts []requirementPart, tests map[int][]provenBy, err error) {
	tests = map[int][]provenBy{}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		if strings.HasPrefix(line, "== ") {
			parts = append(parts, requirementPart{})
			continue
		}
		if len(parts) == 0 {
			return nil, nil, fmt.Errorf("line %d: it stands before the first part", i+1)
		}
		part := &parts[len(parts)-1]
		held, ok := strings.CutPrefix(line, "\t")
		if !ok {
			part.rules = append(part.rules, requirement{line: i + 1})
			continue
		}
		if len(part.rules) == 0 {
			return nil, nil, fmt.Errorf("line %d: it stands before the first rule", i+1)
		}
		rule := &part.rules[len(part.rules)-1]
		test, err := readHold(held)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		rule.held++
		if test != nil {
			tests[rule.line] = append(tests[rule.line], *test)
		}
	}
	for _, part := range parts {
		for _, r := range part.rules {
			if r.held == 0 {
				return nil, nil, fmt.Errorf("line %d: nothing holds us to it", r.line)
			}
		}
	}
	return parts, tests, nil
}

// readHold reads what holds us to a rule: a test, a scenario, or why nothing does.
func readHold(text string) (*provenBy, error) {
	if strings.HasPrefix(text, "none: ") || strings.HasPrefix(text, "open: ") || suiteScenario.MatchString(text) {
		return nil, nil
	}
	m := contractTest.FindStringSubmatch(text)
	if m == nil {
		return nil, errors.New("write DIRECTORY.NAME, suite SIDE/SCENARIO, none: WHY, or open: WHAT")
	}
	return &provenBy{m[1], m[2], m[3]}, nil
}

// TestMCPRequirements checks that every rule names tests that exist.
func TestMCPRequirements(t *testing.T) {
	text, err := os.ReadFile("testdata/mcp-requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, tests, err := parseRequirements(string(text))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for line, all := range tests {
		for _, p := range all {
			if err := p.missing(sources); err != nil {
				t.Errorf("mcp-requirements.txt:%d: %v", line, err)
			}
		}
	}
}

// TestMCPRequirementsFormat checks that no slip in the file hides a rule.
func TestMCPRequirementsFormat(t *testing.T) {
	for _, bad := range []string{"a rule\n\thost.TestA", "== P\n\thost.TestA", "== P\na rule", "== P\na\n\tTestA", "== P\na\n\tsuite tools-list", "== P\na\nb\n\tnone: why"} {
		if got, _, err := parseRequirements(bad); err == nil {
			t.Errorf("%q: accepted as %v", bad, got)
		}
	}
	good := "# c\n== P\na\n\thost.TestA\n\tsuite server/tools-list\nb\n\tnone: why\nc\n\topen: what\n"
	if parts, tests, err := parseRequirements(good); err != nil || len(parts) != 1 || len(parts[0].rules) != 3 || len(tests) != 1 {
		t.Errorf("got %v, %v, %v", parts, tests, err)
	}
}
