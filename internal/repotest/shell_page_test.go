package repotest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const shellPage = "docs/shell.md"

// testLink is a link of a page to a test: [TestName] or [TestName/case], and a file. A
// script of the command line is linked by its name.
var testLink = regexp.MustCompile(`\[((?:Test|Fuzz)\w+)(?:/([^\]]+))?\]\(([^)\s]+)\)`)

// claimFaults says which claims of a page, its list items, have no test, and which tests
// of the page do not exist. It returns the number of claims.
func claimFaults(page, text string) (claims int, faults []string) {
	items := strings.Split("\n"+text, "\n- ")
	for _, item := range items[1:] {
		claims++
		item, _, _ = strings.Cut(item, "\n\n")
		if !testLink.MatchString(item) {
			faults = append(faults, fmt.Sprintf("no test is linked: %q", item))
		}
	}
	for _, m := range testLink.FindAllStringSubmatch(text, -1) {
		if err := linkedTest(path.Join(path.Dir(page), m[3]), m[1], m[2]); err != nil {
			faults = append(faults, err.Error())
		}
	}
	return claims, faults
}

// linkedTest looks for a test, and its case, in a file.
func linkedTest(file, name, part string) error {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	if !strings.Contains(string(source), "func "+name+"(") {
		return fmt.Errorf("%s has no %s: link the file that has it", file, name)
	}
	if part != "" && !namesCase(string(source), path.Dir(file), part) {
		return fmt.Errorf("%s: %s has no case %q", file, name, part)
	}
	return nil
}

// TestShellPage checks that every claim of docs/shell.md links to a test that exists.
func TestShellPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, shellPage))
	if err != nil {
		t.Fatal(err)
	}
	claims, faults := claimFaults(shellPage, string(text))
	for _, f := range faults {
		t.Errorf("%s: %s", shellPage, f)
	}
	if claims < 6 {
		t.Errorf("found %d claims", claims)
	}
}

// TestClaimFaults checks that a slip on the page does not hide a claim from the check.
func TestClaimFaults(t *testing.T) {
	const known = "[TestClaimFaults](../internal/repotest/shell_page_test.go)"
	for text, want := range map[string]int{
		"# A\n\n- one. " + known + "\n- two\n  lines. " + known + "\n\nprose\n": 0,
		"- one.\n- two. " + known: 1,
		"- one.\n\n" + known:      1,
		"prose " + strings.Replace(known, "TestClaimFaults", "TestGone", 1): 1,
		"- a. " + strings.Replace(known, "shell_page", "gone", 1):           1,
		"- a. " + strings.Replace(known, "Faults]", "Faults/- one.]", 1):    1,
	} {
		if _, faults := claimFaults(shellPage, text); len(faults) != want {
			t.Errorf("%q: %q, want %d", text, faults, want)
		}
	}
}
