package benchmodels

import (
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
)

// golden is a query and the tools that answer it.
type golden struct {
	query string
	want  []string
	held  bool // not looked at while the search was improved
}

// goldenSet is testdata/queries.txt.
func goldenSet(t testing.TB) (all []golden) {
	t.Helper()
	held := false
	for line := range strings.Lines(readFile(t, "queries.txt")) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "== "); ok {
			held = name == "held out"
			continue
		}
		if query, want, ok := strings.Cut(line, " => "); ok {
			all = append(all, golden{query, strings.Split(want, ", "), held})
		}
	}
	return all
}

// quality is how well a search finds, as shares of the queries.
type quality struct {
	queries int
	// recall is the mean share of the wanted tools among the first k, at most k being wanted
	// of a query; first the share of queries with a wanted first result; empty the number of
	// queries without a result.
	recall5, recall10, first float64
	empty                    int
}

// measureSearch runs the queries that are of a part of the golden set.
func measureSearch(c *catalog.Catalog, queries []golden) quality {
	var q quality
	for _, g := range queries {
		var names []string
		for _, e := range c.Search(g.query, 10) {
			names = append(names, e.Name)
		}
		q.recall5 += recall(names, g.want, 5)
		q.recall10 += recall(names, g.want, 10)
		if len(names) == 0 {
			q.empty++
		} else if slices.Contains(g.want, names[0]) {
			q.first++
		}
		q.queries++
	}
	n := float64(q.queries)
	q.recall5, q.recall10, q.first = q.recall5/n, q.recall10/n, q.first/n
	return q
}

// recall is the share of the wanted names among the first k.
func recall(names, want []string, k int) float64 {
	found := 0
	for _, name := range names[:min(len(names), k)] {
		if slices.Contains(want, name) {
			found++
		}
	}
	return float64(found) / float64(min(len(want), k))
}

// searchQuality is the quality for the whole golden set and its parts.
func searchQuality(t testing.TB) (all, tuned, held quality) {
	t.Helper()
	c, err := catalog.New(services(t), catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	set := goldenSet(t)
	part := func(want bool) []golden {
		return slices.DeleteFunc(slices.Clone(set), func(g golden) bool { return g.held != want })
	}
	return measureSearch(c, set), measureSearch(c, part(false)), measureSearch(c, part(true))
}

// TestGoldenSet: the golden set is as large as it is said to be, and names tools
// that exist.
func TestGoldenSet(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, tool := range services(t) {
		if names[tool.Name] {
			t.Errorf("two tools are named %s", tool.Name)
		}
		names[tool.Name] = true
	}
	set := goldenSet(t)
	if len(names) < 500 || len(set) < 100 {
		t.Errorf("%d tools and %d queries", len(names), len(set))
	}
	for _, g := range set {
		for _, name := range g.want {
			if !names[name] {
				t.Errorf("%q wants %s, which does not exist", g.query, name)
			}
		}
	}
}

// TestSearchRecall: the search finds what is wanted, in other words than the tools
// have, too.
func TestSearchRecall(t *testing.T) {
	t.Parallel()
	const goal = 0.85
	all, tuned, held := searchQuality(t)
	t.Logf("recall@5 %.3f of %d queries: %.3f of %d that were looked at, %.3f of %d that were not", all.recall5, all.queries,
		tuned.recall5, tuned.queries, held.recall5, held.queries)
	if all.recall5 < goal {
		t.Errorf("recall@5 is %.3f, want %.2f", all.recall5, goal)
	}
	if all.empty > 0 {
		t.Errorf("%d queries find nothing", all.empty)
	}
	if testing.Verbose() {
		misses(t)
	}
}

// misses logs the queries that do not find all that they want.
func misses(t *testing.T) {
	t.Helper()
	c, err := catalog.New(services(t), catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range goldenSet(t) {
		var names []string
		for _, e := range c.Search(g.query, 5) {
			names = append(names, e.Name)
		}
		if recall(names, g.want, 5) < 1 {
			t.Logf("held %v: %q wants %v, finds %v", g.held, g.query, g.want, names)
		}
	}
}
