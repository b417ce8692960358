package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// make a catalog or fail.
func build(t testing.TB, tools ...Tool) *Catalog {
	t.Helper()
	c, err := New(tools, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ids(list []Entry) []string {
	names := []string{}
	for _, e := range list {
		names = append(names, e.ID)
	}
	return names
}

const issueSchema = `{"type":"object","properties":{
	"repo":{"type":"string","description":"full name of the repository"},
	"state":{"type":"string","enum":["open","closed"]},
	"limit":{"type":"integer","minimum":1}},"required":["repo"],"additionalProperties":false}`

// fixture has tools of every source, in no order.
func fixture(t testing.TB) *Catalog {
	t.Helper()
	return build(t,
		Tool{Name: "select_file", Source: SourceClient, Owner: "app", Description: "Lets the user pick a file"},
		Tool{Name: "create_issue", Source: SourceMCP, Owner: "github", Description: "Creates an issue"},
		Tool{Name: "list_issues", Owner: "issues", Label: "List issues", Description: "Lists the issues of a repository",
			Parameters: json.RawMessage(issueSchema), Output: json.RawMessage(`{"type":"array"}`), ReadOnly: true,
			Examples: []Example{{Description: "open ones", Input: json.RawMessage(`{"repo":"a/b","state":"open"}`)}}},
		Tool{Name: "create_event", Owner: "calendar", Description: "Adds an appointment"},
		Tool{Name: "create_issue", Owner: "issues", Description: "Opens a new issue"},
		Tool{Name: "remove", Owner: "calendar", Description: "Removes an appointment"},
		Tool{Name: "remove", Owner: "issues", Description: "Removes an issue"},
		Tool{Name: "exec", Description: "Runs a shell command"},
		Tool{Name: "web-search", Description: "Searches the web", Owner: "aaa"},
		Tool{Name: "tool_search_code"}, Tool{Name: "tool_search"}, Tool{Name: "tool_describe", Owner: "x"},
		Tool{Name: "tool_call", Source: SourceMCP, Owner: "y"},
	)
}

func TestOrderAndEntries(t *testing.T) {
	c := fixture(t)
	want := []string{
		"quoin:core:exec",
		"quoin:aaa:web-search",
		"quoin:calendar:create_event",
		"quoin:calendar:remove",
		"quoin:issues:create_issue",
		"quoin:issues:list_issues",
		"quoin:issues:remove",
		"mcp:github:create_issue",
		"client:app:select_file",
	}
	if diff := cmp.Diff(want, ids(c.Entries())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	guest := slices.DeleteFunc(slices.Clone(want), func(id string) bool { return strings.HasPrefix(id, "mcp:") })
	if diff := cmp.Diff(guest, ids(c.GuestEntries())); diff != "" {
		t.Errorf("guest (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[Source]int{SourceQuoin: 7, SourceMCP: 1, SourceClient: 1}, c.Counts()); diff != "" || c.Len() != 9 {
		t.Errorf("counts of %d (-want +got)\n%s", c.Len(), diff)
	}
	if diff := cmp.Diff(map[Source]int{SourceQuoin: 0, SourceMCP: 0, SourceClient: 0}, build(t).Counts()); diff != "" {
		t.Errorf("counts of nothing (-want +got)\n%s", diff)
	}
	if len(c.Tools()) != 9 || c.Tools()[0].Name != "exec" {
		t.Errorf("tools: %v", c.Tools())
	}
}

func TestEntryJSON(t *testing.T) {
	c := build(t,
		Tool{Name: "a", Description: "<b> & \"c\""},
		Tool{Name: "b", Owner: "p", Label: "B"},
		Tool{Name: "c", Source: SourceMCP, Owner: "srv"},
		Tool{Name: "d", Source: SourceClient})
	const want = `[{"id":"quoin:core:a","name":"a","description":"<b> & \"c\"","source":"quoin"},` +
		`{"id":"quoin:p:b","name":"b","label":"B","description":"","source":"quoin","sourceName":"p"},` +
		`{"id":"client:client:d","name":"d","description":"","source":"client","sourceName":"client"}]`
	if got := string(c.GuestEntriesJSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(build(t).GuestEntriesJSON()); got != "[]" {
		t.Errorf("empty: %s", got)
	}
}

func TestEverythingAdvertisedIsThere(t *testing.T) {
	c := fixture(t)
	for _, e := range c.Entries() {
		if tool, ok := c.ByID(e.ID); !ok || tool.ID() != e.ID {
			t.Errorf("%s is not found by id", e.ID)
		}
	}
	for _, e := range c.GuestEntries() {
		tool, err := c.Resolve(e.ID)
		if err != nil || tool.ID() != e.ID {
			t.Errorf("%s: %v", e.ID, err)
		}
		d, err := c.Describe(e.ID)
		if err != nil || d.Entry != e || !json.Valid(d.Parameters) {
			t.Errorf("describe %s: %v, %v", e.ID, d, err)
		}
		if found := c.Search(e.ID, 1); len(found) != 1 || found[0].ID != e.ID {
			t.Errorf("search %s: %v", e.ID, found)
		}
	}
	for name, id := range c.SafeNames() {
		if _, err := c.Resolve(id); err != nil {
			t.Errorf("tools.%s: %v", name, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		tools []Tool
		code  Code
		says  string
	}{
		"same id":             {[]Tool{{Name: "a", Owner: "p"}, {Name: "b"}, {Name: "a", Owner: "p"}}, DuplicateID, "quoin:p:a"},
		"same id by defaults": {[]Tool{{Name: "a"}, {Name: "a", Owner: "core", Source: SourceQuoin}}, DuplicateID, "quoin:core:a"},
		"no name":             {[]Tool{{Owner: "p"}}, InvalidTool, "its name"},
		"spaces around":       {[]Tool{{Name: " a"}}, InvalidTool, "its name"},
		"control characters":  {[]Tool{{Name: "a\nb"}}, InvalidTool, "its name"},
		"not UTF-8":           {[]Tool{{Name: "a\xff"}}, InvalidTool, "its name"},
		"too long":            {[]Tool{{Name: strings.Repeat("a", 257)}}, InvalidTool, "256"},
		"owner with a colon":  {[]Tool{{Name: "a", Owner: "p:q"}}, InvalidTool, "its owner"},
		"MCP without owner":   {[]Tool{{Name: "a", Source: SourceMCP}}, InvalidTool, "its owner"},
		"unknown source":      {[]Tool{{Name: "a", Source: "plugin"}}, InvalidTool, "source plugin is unknown"},
	} {
		c, err := New(test.tools, Options{})
		if c != nil || !errors.Is(err, test.code) || !errors.Is(err, &Error{Code: test.code}) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Ids differ by their parts, even where those look alike.
	build(t, Tool{Name: "b:c", Owner: "a"}, Tool{Name: "c", Owner: "b"}, Tool{Name: "a"}, Tool{Name: "a", Owner: "a"},
		Tool{Name: "a", Source: SourceMCP, Owner: "a"}, Tool{Name: "a", Source: SourceClient, Owner: "a"})
}

func TestCatalogKeepsItsOwnCopy(t *testing.T) {
	tools := []Tool{{Name: "b"}, {Name: "a"}}
	c := build(t, tools...)
	tools[0].Name, tools[1].Name = "x", "y"
	c.Tools()[0] = nil
	c.SafeNames()["z"] = "quoin:core:z"
	if diff := cmp.Diff([]string{"quoin:core:a", "quoin:core:b"}, ids(c.Entries())); diff != "" || len(c.SafeNames()) != 2 {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestResolve(t *testing.T) {
	c := fixture(t)
	for wanted, id := range map[string]string{
		"quoin:core:exec":        "quoin:core:exec",
		"exec":                   "quoin:core:exec",
		"  list_issues\n":        "quoin:issues:list_issues",
		"create_issue":           "quoin:issues:create_issue", // the MCP tool of that name is not a guest's
		"web-search":             "quoin:aaa:web-search",
		"client:app:select_file": "client:app:select_file",
	} {
		if tool, err := c.Resolve(wanted); err != nil || tool.ID() != id {
			t.Errorf("%q: %v, %v", wanted, tool, err)
		}
	}
	for wanted, test := range map[string]struct {
		code Code
		text string
	}{
		"list_isues":                {UnknownTool, "Unknown tool id: list_isues. Did you mean: quoin:issues:list_issues? Use tools.search(query) to find tools."},
		"quoin:issues:list_issue":   {UnknownTool, "Unknown tool id: quoin:issues:list_issue. Did you mean: quoin:issues:list_issues? Use tools.search(query) to find tools."},
		"openclaw:core:list_issues": {UnknownTool, "Unknown tool id: openclaw:core:list_issues. Did you mean: quoin:issues:list_issues? Use tools.search(query) to find tools."},
		"listIssues":                {UnknownTool, "Unknown tool id: listIssues. Did you mean: quoin:issues:list_issues? Use tools.search(query) to find tools."},
		"issues_list":               {UnknownTool, "Unknown tool id: issues_list. Did you mean: quoin:issues:list_issues? Use tools.search(query) to find tools."},
		"web_search":                {UnknownTool, "Unknown tool id: web_search. Did you mean: quoin:aaa:web-search? Use tools.search(query) to find tools."},
		"create":                    {UnknownTool, "Unknown tool id: create. Did you mean: quoin:calendar:create_event, quoin:issues:create_issue? Use tools.search(query) to find tools."},
		"teleport":                  {UnknownTool, "Unknown tool id: teleport. Use tools.search(query) to find tools."},
		"":                          {UnknownTool, "Unknown tool id: . Use tools.search(query) to find tools."},
		"a\x00\nb":                  {UnknownTool, "Unknown tool id: a\ufffd\ufffdb. Use tools.search(query) to find tools."},
		"tool_call":                 {UnknownTool, "Unknown tool id: tool_call. Use tools.search(query) to find tools."},
		"__proto__":                 {UnknownTool, "Unknown tool id: __proto__. Use tools.search(query) to find tools."},
		"remove":                    {AmbiguousTool, "Ambiguous tool name: remove; use an exact tool id. Candidates: quoin:calendar:remove, quoin:issues:remove."},
		"mcp:github:create_issue":   {NotCallable, "MCP tool mcp:github:create_issue is not reached through tools; call it as MCP.<server>.<tool>(input)."},
	} {
		tool, err := c.Resolve(wanted)
		if tool != nil || !errors.Is(err, test.code) || err.Error() != test.text {
			t.Errorf("%q: %v\n%v", wanted, tool, err)
		}
		if d, err := c.Describe(wanted); d != nil || !errors.Is(err, test.code) {
			t.Errorf("describe %q: %v, %v", wanted, d, err)
		}
	}
	if _, err := c.Resolve(strings.Repeat("é", 1<<20)); len(err.Error()) > 300 {
		t.Errorf("a message of %d bytes", len(err.Error()))
	}
}

func TestAtMostThreeSuggestions(t *testing.T) {
	var tools []Tool
	for i := range 20 {
		tools = append(tools, Tool{Name: fmt.Sprintf("get_thing_%02d", i)})
	}
	_, err := build(t, tools...).Resolve("get_thing_7")
	if n := strings.Count(err.Error(), "quoin:core:"); n != 3 || !strings.Contains(err.Error(), "get_thing_07") {
		t.Errorf("%d suggestions: %v", n, err)
	}
}

func TestOwners(t *testing.T) {
	c := fixture(t)
	for _, test := range []struct {
		name, owner string
		owned       bool
	}{
		{"list_issues", "issues", true},
		{"remove", "issues", true},
		{"remove", "calendar", true},
		{"exec", "core", true},
		{"list_issues", "calendar", false},
		{"list_issues", "", false},
		{"LIST_ISSUES", "issues", false},
		{"create_issue", "github", false},
		{"select_file", "app", false},
		{"", "issues", false},
		{"issues:remove", "quoin", false},
		{"remove", "x:issues", false},
	} {
		tool, ok := c.ByOwner(test.name, test.owner)
		if ok != test.owned || c.Owned(test.name, test.owner) != test.owned || ok && (tool.Name != test.name || tool.Owner != test.owner) {
			t.Errorf("%s of %s: %v, %v", test.name, test.owner, tool, ok)
		}
	}
}

// TestAColonInAName does not make a tool another's: its id can be read in two ways.
func TestAColonInAName(t *testing.T) {
	c := build(t, Tool{Name: "list:remove", Owner: "calendar"})
	if _, ok := c.ByOwner("list:remove", "calendar"); !ok {
		t.Error("list:remove of calendar is not there")
	}
	if tool, ok := c.ByOwner("remove", "calendar:list"); ok {
		t.Errorf("%s is taken for remove of calendar:list", tool.ID())
	}
}

func TestSafeNames(t *testing.T) {
	names := []string{
		"plain", "web-search", "9lives", "a.b/c d", "größe", "議題", "🙂", "class", "$x",
		"same-name", "same_name", // neither
		"search", "describe", "call", "then", "toJSON", "__proto__", "__quoin_x",
		"constructor",
	}
	var tools []Tool
	for _, name := range names {
		tools = append(tools, Tool{Name: name})
	}
	tools = append(tools, Tool{Name: "plain", Source: SourceMCP, Owner: "srv"}, Tool{Name: "twin", Owner: "p"}, Tool{Name: "twin", Owner: "q"},
		Tool{Name: "twin", Owner: "r"})
	c := build(t, tools...)
	want := map[string]string{
		"plain": "quoin:core:plain", "web_search": "quoin:core:web-search", "_9lives": "quoin:core:9lives",
		"a_b_c_d": "quoin:core:a.b/c d", "größe": "quoin:core:größe", "議題": "quoin:core:議題", "_": "quoin:core:🙂",
		"class": "quoin:core:class", "$x": "quoin:core:$x", "constructor": "quoin:core:constructor",
	}
	if diff := cmp.Diff(want, c.SafeNames()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var decoded map[string]string
	if err := json.Unmarshal(c.SafeNamesJSON(), &decoded); err != nil || !maps.Equal(decoded, want) {
		t.Errorf("JSON: %s, %v", c.SafeNamesJSON(), err)
	}
}

func TestDescribe(t *testing.T) {
	c := fixture(t)
	d, err := c.Describe("list_issues")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var want, have any
	if err := json.Unmarshal([]byte(`{"id":"quoin:issues:list_issues","name":"list_issues","label":"List issues",
		"description":"Lists the issues of a repository","source":"quoin","sourceName":"issues","parameters":`+issueSchema+`,
		"output":{"type":"array"},"examples":[{"description":"open ones","input":{"repo":"a/b","state":"open"}}]}`), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &have); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	d, err = c.Describe("exec")
	if err != nil || string(d.Parameters) != "{}" || d.Output != nil {
		t.Errorf("without schemas: %+v, %v", d, err)
	}
	bad := build(t, Tool{Name: "p", Parameters: json.RawMessage("{")}, Tool{Name: "o", Output: json.RawMessage("{")},
		Tool{Name: "e", Examples: []Example{{Input: json.RawMessage("{")}}}, Tool{Name: "fine"})
	for _, name := range []string{"p", "o", "e"} {
		if _, err := bad.Describe(name); !errors.Is(err, InvalidSchema) || !strings.Contains(err.Error(), "quoin:core:"+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := bad.Describe("fine"); err != nil {
		t.Errorf("one bad tool spoils another: %v", err)
	}
}

func TestFingerprint(t *testing.T) {
	one := Tool{Name: "a", Parameters: json.RawMessage(`{"a":1}`), Output: json.RawMessage(`{}`)}
	base := build(t, one, Tool{Name: "b"}).Fingerprint()
	if len(base) != 64 {
		t.Errorf("fingerprint %q", base)
	}
	reworded := one
	reworded.Description = "other words"
	if build(t, Tool{Name: "b"}, reworded, Tool{Name: "tool_call"}).Fingerprint() != base {
		t.Error("order, words or control tools change the fingerprint")
	}
	for name, edit := range map[string]func(*Tool){
		"name":       func(t *Tool) { t.Name = "c" },
		"owner":      func(t *Tool) { t.Owner = "p" },
		"source":     func(t *Tool) { t.Source = SourceClient },
		"parameters": func(t *Tool) { t.Parameters = json.RawMessage(`{"a":2}`) },
		"output":     func(t *Tool) { t.Output = nil },
		"moved":      func(t *Tool) { t.Parameters, t.Output = json.RawMessage(`{"a":1}{`), json.RawMessage(`}`) },
	} {
		other := one
		edit(&other)
		if build(t, other, Tool{Name: "b"}).Fingerprint() == base {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
}

// Equal sets of tools give equal catalogs, whatever their order.
func TestOrderOfToolsDoesNotMatter(t *testing.T) {
	word := rapid.SampledFrom(strings.Fields("list create issue issues event file web search remove calendar repository thing"))
	drawTool := rapid.Custom(func(t *rapid.T) Tool {
		words := func(label string, most int) string {
			return strings.Join(rapid.SliceOfN(word, 1, most).Draw(t, label), " ")
		}
		return Tool{
			Name:        strings.ReplaceAll(words("name", 3), " ", rapid.SampledFrom([]string{"_", "-", "."}).Draw(t, "separator")),
			Source:      rapid.SampledFrom([]Source{SourceQuoin, SourceMCP, SourceClient}).Draw(t, "source"),
			Owner:       rapid.SampledFrom([]string{"core", "alpha", "beta"}).Draw(t, "owner"),
			Description: words("description", 8),
			Parameters: json.RawMessage(`{"properties":{"` + words("p1", 1) + `":{"description":"` + words("d1", 4) + `"},"x` +
				words("p2", 1) + `":{"description":"` + words("d2", 4) + `"}}}`),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		tools := rapid.SliceOfNDistinct(drawTool, 1, 25, func(t Tool) string { return t.ID() }).Draw(t, "tools")
		a, err := New(tools, Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := New(rapid.Permutation(tools).Draw(t, "permuted"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		query := strings.Join(rapid.SliceOfN(word, 0, 3).Draw(t, "query"), " ")
		name := rapid.SampledFrom(tools).Draw(t, "wanted").Name
		view := func(c *Catalog) []string {
			_, err := c.Resolve(name + "s")
			_, byName := c.Resolve(name)
			return append(ids(c.Search(query, 25)), string(c.GuestEntriesJSON()), string(c.SafeNamesJSON()), c.Fingerprint(), fmt.Sprint(err), fmt.Sprint(byName))
		}
		if diff := cmp.Diff(view(a), view(b)); diff != "" {
			t.Fatal(diff)
		}
		for _, e := range a.GuestEntries() {
			if tool, err := a.Resolve(e.ID); err != nil || tool.ID() != e.ID {
				t.Fatalf("%s: %v", e.ID, err)
			}
		}
	})
}
