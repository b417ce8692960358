package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPluginsPageQuotes: what docs/guide/plugins.md quotes of an example stands in it.
func TestPluginsPageQuotes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/guide/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	quotes := regexp.MustCompile("(?ms)^```go quoted (\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(quotes) == 0 {
		t.Error("the page quotes nothing")
	}
	for _, q := range quotes {
		source, err := os.ReadFile(filepath.Join("../../..", filepath.FromSlash(q[1])))
		if err != nil || !strings.Contains(string(source), q[2]) {
			t.Errorf("%s has no (%v)\n%s", q[1], err, q[2])
		}
	}
}
