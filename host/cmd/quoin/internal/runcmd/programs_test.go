package runcmd

import (
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/programs"
)

// TestReviewsNameTheNextStep: a review says what can be done about the tools.
func TestReviewsNameTheNextStep(t *testing.T) {
	t.Parallel()
	program := &programs.Program{Name: "weekly", Code: "return 42"}
	changed := host.ProgramChange{Tool: "quoin:core:a", Was: "({})", Is: "({ n: integer })"}
	gone := host.ProgramChange{Tool: "quoin:core:b", Was: "({})"}
	hidden := host.ProgramChange{Tool: "quoin:core:c", Was: "({})", Is: "({})"}
	for name, tc := range map[string]struct {
		changes  []host.ProgramChange
		accepted bool
		want     string
	}{
		"as they were": {nil, false, "weekly: its tools are all as they were\n"},
		"accepted":     {nil, true, "weekly: its tools are accepted as they are now\n"},
		"changed":      {[]host.ProgramChange{changed}, false, "the program:\n\nreturn 42\n\nlook at the program and at the changes, then accept them with: quoin programs review weekly --accept d1\n"},
		"hidden": {[]host.ProgramChange{hidden}, false, "quoin:core:c\n  was ({})\n  is  ({})\n" +
			"  they differ in what is left out here: formats, bounds, descriptions, what is deep or long\n" +
			"the program:\n\nreturn 42\n\nlook at the program and at the changes, then accept them with: quoin programs review weekly --accept d1\n"},
		"gone": {[]host.ProgramChange{changed, gone}, true, "or write the program again and save it with --replace\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			printReview(&b, &host.ProgramReview{Program: program, Changes: tc.changes, Digest: "d1"}, tc.accepted)
			if !strings.HasSuffix(b.String(), tc.want) {
				t.Error(b.String())
			}
		})
	}
}
