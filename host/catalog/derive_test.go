package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDerivedCatalogsAreLikeNew: however a set of tools came about, everything
// about it is the same.
func TestDerivedCatalogsAreLikeNew(t *testing.T) {
	words := []string{"list", "lists", "open", "issue", "issues", "calendar", "event", "archive", "archived", "deploy", "deployment", "Datei"}
	for seed := range uint64(30) {
		g := rand.New(rand.NewPCG(seed, 3))
		text := func(n int) (s string) {
			for range n {
				s += words[g.IntN(len(words))] + " "
			}
			return s
		}
		var all, client []Tool
		for i := range 40 {
			tool := Tool{Name: fmt.Sprintf("%s_%d", words[g.IntN(len(words))], i), Owner: fmt.Sprint("o", g.IntN(3)), Description: text(g.IntN(12)),
				Parameters: json.RawMessage(fmt.Sprintf(`{"properties":{"%s":{"description":"%s"}}}`, words[g.IntN(len(words))], text(3)))}
			switch g.IntN(6) {
			case 0:
				tool.Source = SourceMCP
			case 1:
				tool.Source = SourceClient
				client = append(client, tool)
				continue
			}
			all = append(all, tool)
		}
		keep := func(t *Tool) bool { return len(t.Description)%3 != 1 }
		base := mustNew(t, all)
		with, err := base.With(client)
		if err != nil {
			t.Fatal(err)
		}
		sameCatalog(t, with, mustNew(t, append(slices.Clone(all), client...)))
		var left []Tool
		for _, tool := range append(slices.Clone(all), client...) {
			if keep(&tool) {
				left = append(left, tool)
			}
		}
		want := mustNew(t, left)
		sameCatalog(t, with.Filter(keep), want)
		filtered, err := base.Filter(keep).With(slices.DeleteFunc(slices.Clone(client), func(t Tool) bool { return !keep(&t) }))
		if err != nil {
			t.Fatal(err)
		}
		sameCatalog(t, filtered, want)
		early, err := base.With([]Tool{{Name: "aaa", Description: "list of issues"}})
		if err != nil {
			t.Fatal(err)
		}
		sameCatalog(t, early, mustNew(t, append(slices.Clone(all), Tool{Name: "aaa", Description: "list of issues"})))
	}
}

func mustNew(t *testing.T, tools []Tool) *Catalog {
	t.Helper()
	c, err := New(tools, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func sameCatalog(t *testing.T, got, want *Catalog) {
	t.Helper()
	if !slices.Equal(got.Entries(), want.Entries()) || got.Fingerprint() != want.Fingerprint() ||
		string(got.GuestEntriesJSON()) != string(want.GuestEntriesJSON()) || string(got.SafeNamesJSON()) != string(want.SafeNamesJSON()) {
		t.Fatalf("got  %v\nwant %v", got.Entries(), want.Entries())
	}
	queries := []string{"", "list open issues", "deploy", "dep", "arch cal", "event_3", "OPEN_7", "nothing like it", "lis", "datei"}
	for _, tool := range want.Tools() {
		queries = append(queries, tool.Name, tool.ID())
	}
	for _, q := range queries {
		if g, w := got.Search(q, 50), want.Search(q, 50); !slices.Equal(g, w) {
			t.Fatalf("search %q:\ngot  %v\nwant %v", q, g, w)
		}
		_, gerr := got.Resolve(q + "x")
		_, werr := want.Resolve(q + "x")
		if gerr.Error() != werr.Error() {
			t.Fatalf("resolve %q:\ngot  %v\nwant %v", q+"x", gerr, werr)
		}
	}
}

// TestFilteredToolsShowNowhere: not in what a word is completed to, nor in ranks.
func TestFilteredToolsShowNowhere(t *testing.T) {
	var tools []Tool
	for i := range 40 { // all that starts like the query is hidden, more of it than is tried
		tools = append(tools, Tool{Name: fmt.Sprintf("secretplan%02d", i), Owner: "hidden"})
	}
	tools = append(tools, Tool{Name: "secretsanta"})
	c := mustNew(t, tools).Filter(func(t *Tool) bool { return t.Owner != "hidden" })
	if got := c.Search("secret", 10); len(got) != 1 || got[0].Name != "secretsanta" {
		t.Errorf("found %v", got)
	}
	if got := c.Search("secretplan07", 10); len(got) != 0 {
		t.Errorf("found %v", got)
	}
	_, err := c.Resolve("secretplan07")
	if want := `Unknown tool id: secretplan07. Use tools.search(query) to find tools.`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if c.Len() != 1 || c.Counts()[SourceQuoin] != 1 {
		t.Errorf("%d tools, %v", c.Len(), c.Counts())
	}
}

func TestWithRefuses(t *testing.T) {
	c := mustNew(t, []Tool{{Name: "a", Source: SourceClient}})
	if _, err := c.With([]Tool{{Name: "a", Source: SourceClient}}); !errors.Is(err, DuplicateID) {
		t.Errorf("got %v", err)
	}
	if _, err := c.With([]Tool{{Name: ""}}); !errors.Is(err, InvalidTool) {
		t.Errorf("got %v", err)
	}
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		tool Tool
		want Code
	}{
		{Tool{Name: "a", Parameters: json.RawMessage(issueSchema)}, ""},
		{Tool{Name: "a b"}, ""},
		{Tool{Name: " a"}, InvalidTool},
		{Tool{Name: "a", Owner: "x:y"}, InvalidTool},
		{Tool{Name: "a", Parameters: json.RawMessage(`{`)}, InvalidSchema},
		{Tool{Name: "a", Parameters: json.RawMessage(`{"type":"text"}`)}, InvalidSchema},
		{Tool{Name: "a", Output: json.RawMessage(`{"$ref":"https://x.test/y"}`)}, InvalidSchema},
		{Tool{Name: "a", Examples: []Example{{Input: json.RawMessage(`{`)}}}, InvalidSchema},
		{Tool{Name: "a", Output: json.RawMessage(`{"type":"string"}`), Examples: []Example{{Output: json.RawMessage(`5`)}}}, InvalidSchema},
	} {
		err := Check(tc.tool)
		if tc.want == "" && err != nil || tc.want != "" && !errors.Is(err, tc.want) {
			t.Errorf("%+v: got %v, want %q", tc.tool, err, tc.want)
		}
	}
}

func TestValidateOutput(t *testing.T) {
	c := mustNew(t, []Tool{{Name: "a", Output: json.RawMessage(`{"type":"object","required":["items"]}`)}, {Name: "free"}, {Name: "bad", Output: json.RawMessage(`{"type":5}`)}})
	for _, tc := range []struct {
		id, output string
		want       Code
	}{
		{"quoin:core:a", `{"items":1}`, ""}, {"quoin:core:free", `{`, ""}, {"quoin:core:a", `{}`, InvalidOutput}, {"quoin:core:a", `{`, InvalidOutput},
		{"quoin:core:bad", `1`, InvalidSchema}, {"quoin:core:none", `1`, UnknownTool},
	} {
		err := c.ValidateOutput(tc.id, json.RawMessage(tc.output))
		if tc.want == "" && err != nil || tc.want != "" && !errors.Is(err, tc.want) {
			t.Errorf("%s %s: got %v, want %q", tc.id, tc.output, err, tc.want)
		}
	}
}
