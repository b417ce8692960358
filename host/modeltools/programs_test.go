package modeltools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/modeltools"
)

// TestSavedProgramsInThePrompt: a model is told of saved programs, of as many as fit, and
// a prompt of many tools does not get larger by them.
func TestSavedProgramsInThePrompt(t *testing.T) {
	t.Parallel()
	few := offerOf(t, nil, 0)
	few.Programs = []modeltools.Program{{Call: `programs.run("weekly-report", { days?: integer })`, Description: "Counts\nissues."}}
	if text := rendered(t, few); !strings.Contains(text, `programs.run(\"weekly-report\", { days?: integer }): Counts issues.`) {
		t.Errorf("not told: %s", text)
	}
	many := offerOf(t, manyTools(527, never), 4)
	for i := range 300 {
		many.Programs = append(many.Programs, modeltools.Program{Call: fmt.Sprintf(`programs.run("program-%d")`, i), Description: strings.Repeat("Counts the issues of a week. ", 9)})
	}
	text := rendered(t, many)
	if got := tokens(t, text); got > 1500 {
		t.Errorf("%d tokens", got)
	}
	if !strings.Contains(text, "more: programs.list()") || !strings.Contains(text, "program-0") {
		t.Errorf("programs are not named: %s", text)
	}
}
