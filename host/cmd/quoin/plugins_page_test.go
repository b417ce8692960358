package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

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

// TestPluginCommandsPage pins the reference of commands in docs/reference/plugin-commands.md.
func TestPluginCommandsPage(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../../docs/reference/plugin-commands.md", "<!-- generated: commands -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no %q or no %q", page, begin, end)
	}
	var b strings.Builder
	for _, name := range []string{"new", "dev", "test", "types", "debug"} {
		cmd, _, err := newRoot().Find([]string{"plugin", name})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "## quoin plugin %s\n\n```usage\n%s\n\n%s```\n\n", name, cmd.Long, cmd.UsageString())
	}
	want := before + begin + b.String() + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s is out of date: run go test ./host/cmd/quoin -run %s -update", page, t.Name())
	}
}
