package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

var description = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "((?:[^"\\]|\\.)*)", .*variableLabels: \{([^}]*)\}\}$`)

// TestMetricsPage pins the list of metrics in docs/reference/metrics.md.
func TestMetricsPage(t *testing.T) {
	const page, begin, end = "../../../docs/reference/metrics.md", "<!-- generated: metrics -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no %q or no %q", page, begin, end)
	}
	want := before + begin + table(t) + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s is out of date: run go test ./host/internal/metrics -run %s -update", page, t.Name())
	}
}

// table lists every metric that is registered.
func table(t *testing.T) string {
	t.Helper()
	m := busy()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, f := range families {
		kinds[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	descs := make(chan *prometheus.Desc, 1000)
	m.Gatherer().(prometheus.Collector).Describe(descs)
	close(descs)
	var lines []string
	for d := range descs {
		parts := description.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("cannot read %s", d)
		}
		name, help := parts[1], parts[2]
		if kinds[name] == "" {
			t.Errorf("busy counts nothing in %s", name)
		}
		var labels []string
		for label := range strings.SplitSeq(parts[3], ",") {
			if label != "" {
				labels = append(labels, "`"+label+"`")
			}
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, kinds[name], strings.Join(labels, ", "), help))
	}
	slices.Sort(lines)
	return "| metric | type | labels | what it says |\n|---|---|---|---|\n" + strings.Join(lines, "")
}
