package repotest

import (
	"encoding/json"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDependenciesHaveReasons compares the modules in the rationale's table with those that
// go.mod requires itself.
func TestDependenciesHaveReasons(t *testing.T) {
	out, err := osexec.Command("go", "mod", "edit", "-json", filepath.Join(root, "go.mod")).Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	var required []string
	for _, r := range mod.Require {
		if !r.Indirect {
			required = append(required, r.Path)
		}
	}
	_, chapter, _ := strings.Cut(pages(t)["docs/internals/rationale.md"], "\n## Dependencies\n")
	chapter, _, _ = strings.Cut(chapter, "\n#")
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(chapter, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			named = append(named, name[1])
		}
	}
	for _, path := range named {
		if !slices.Contains(required, path) {
			t.Errorf("the table of dependencies has %s, which go.mod does not require", path)
		}
	}
	for _, path := range required {
		if !slices.Contains(named, path) {
			t.Errorf("go.mod requires %s, and the table of dependencies does not say why", path)
		}
	}
}
