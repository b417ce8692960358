package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/internal/text"
)

// library is a catalog with something to find.
func library(t testing.TB) *Catalog {
	return build(t,
		Tool{Name: "list_issues", Owner: "issues", Description: "Lists the issues of a repository", Parameters: json.RawMessage(issueSchema)},
		Tool{Name: "create_issue", Owner: "issues", Description: "Opens a new issue in the tracker"},
		Tool{Name: "read_file", Description: "Reads a file from the local disk"},
		Tool{Name: "writeFile", Description: "Stores text on disk"},
		Tool{Name: "web_search", Description: "Looks things up on the internet"},
		Tool{Name: "send_mail", Owner: "post", Label: "Email", Description: "Sends a message", Parameters: json.RawMessage(
			`{"properties":{"recipient":{"description":"address of the person who gets it"},"attachments":{"items":{"properties":{"checksum":{"description":"digest of the blob"}}}}}}`)},
		Tool{Name: "create_event", Owner: "calendar", Description: "Adds an appointment to a diary"},
		Tool{Name: "translate", Description: "翻訳する: テキストを日本語に"},
		Tool{Name: "who_is", Description: "Names the owner of a domain"},
		Tool{Name: "listHTTPRoutes", Description: "Shows the server's paths"},
		Tool{Name: "create_issue", Source: SourceMCP, Owner: "github", Description: "Opens a new issue on GitHub"},
		Tool{Name: "broken", Description: "Its schema is no schema", Parameters: json.RawMessage(`{"properties":{"zebra":{}},"items":`)},
		Tool{Name: "partly", Description: "A strange schema", Parameters: json.RawMessage(`{"properties":{"walrus":{"description":5,"properties":[]},"ocelot":true}}`)},
	)
}

func TestSearchFinds(t *testing.T) {
	c := library(t)
	for query, first := range map[string]string{
		"list issues":           "list_issues",
		"listing of an issue":   "list_issues", // stems
		"repositories":          "list_issues",
		"opened issues":         "create_issue",
		"file":                  "read_file",
		"write a file":          "writeFile", // camelCase
		"writefile":             "writeFile",
		"http":                  "listHTTPRoutes",
		"routes":                "listHTTPRoutes",
		"websearch":             "web_search", // words run together
		"internet":              "web_search",
		"email":                 "send_mail",    // label
		"recipients":            "send_mail",    // parameter name
		"addresses":             "send_mail",    // parameter description
		"checksum":              "send_mail",    // parameter of a parameter
		"calendar":              "create_event", // owner
		"schedule":              "create_event", // other words for it
		"meeting":               "create_event", //
		"agenda":                "create_event", //
		"e-mail":                "send_mail",    // hyphens
		"calender":              "create_event", // slips
		"recipiants":            "send_mail",    //
		"appoint":               "create_event", // part of a word
		"diar":                  "create_event", // part of a word
		"日本":                    "translate",    // no spaces between words
		"翻訳":                    "translate",    //
		"who is":                "who_is",       // nothing but stop words
		"the domain":            "who_is",       //
		"LIST_ISSUES":           "list_issues",  // by name, in other case
		"quoin:core:web_search": "web_search",   // by id
		"ocelot":                "partly",       // what can be read of a strange schema
		"strange schema":        "partly",       //
	} {
		found := c.Search(query, 3)
		if len(found) == 0 || found[0].Name != first {
			t.Errorf("%q: %v; want %s", query, ids(found), first)
		}
	}
	if found := c.Search("mcp:github:create_issue", 1); len(found) != 1 || found[0].Source != SourceMCP {
		t.Errorf("the MCP tool is not found: %v", ids(found))
	}
	for _, query := range []string{"xylophone", "!!!", "zebra", "walrussian", strings.Repeat("x", 100_000), "\xff\xfe", "the"} {
		if found := c.Search(query, 3); found == nil || len(found) != 0 {
			t.Errorf("%q finds %v", text.Shorten(query, 20), ids(found))
		}
	}
}

func TestSearchRanks(t *testing.T) {
	c := build(t,
		Tool{Name: "a", Description: "deploy"},
		Tool{Name: "deploy", Description: "x"},
		Tool{Name: "b", Label: "deploy"},
		Tool{Name: "c", Parameters: json.RawMessage(`{"properties":{"deploy":{}}}`)},
		Tool{Name: "d", Parameters: json.RawMessage(`{"properties":{"x":{"description":"deploy"}}}`)},
		Tool{Name: "deploy_all_the_things"},
		Tool{Name: "e", Description: "something else"},
	)
	want := []string{"deploy", "b", "a", "deploy_all_the_things", "c", "d"}
	var got []string
	for _, e := range c.Search("deploy", 0) {
		got = append(got, e.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got)\n%s", diff)
	}
	// A rare word counts more than a common one, and a short text more than a long.
	c = build(t,
		Tool{Name: "a", Description: "common rare"},
		Tool{Name: "b", Description: "common common common"},
		Tool{Name: "c", Description: "common"},
		Tool{Name: "d", Description: "common and " + strings.Repeat("much more text ", 30)},
	)
	if found := ids(c.Search("common rare", 4)); found[0] != "quoin:core:a" || found[3] != "quoin:core:d" {
		t.Errorf("rarity and length: %v", found)
	}
}

func TestExactNamesComeFirst(t *testing.T) {
	c := build(t,
		Tool{Name: "search_web", Owner: "a", Description: "web web web search search"},
		Tool{Name: "web", Owner: "b", Description: "nothing to see"},
		Tool{Name: "web", Owner: "z", Description: "nothing here either"},
		Tool{Name: "web_web", Owner: "a", Description: "web web"},
	)
	found := ids(c.Search("web", 3))
	if diff := cmp.Diff([]string{"quoin:b:web", "quoin:z:web", "quoin:a:web_web"}, found); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if found := ids(c.Search(" Quoin:Z:web ", 1)); !slices.Equal(found, []string{"quoin:z:web"}) {
		t.Errorf("by id: %v", found)
	}
}

// TestSynonyms: the list is well formed, words lead to others, and not every way back.
func TestSynonyms(t *testing.T) {
	all := synonyms()
	for word, others := range all {
		if len(others) > 24 || slices.Contains(others, word) {
			t.Errorf("%q stands for %q", word, others)
		}
	}
	small := parseSynonyms("# a comment\nfast quick\npr > pull request\n")
	if diff := cmp.Diff(map[string][]string{"fast": {"quick"}, "quick": {"fast"}, "pr": {"pull", "request"}}, small); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestDerivedCatalogsRankAlike: guesses of misspelt words depend on the tools that are
// there, not on how the catalog came about.
func TestDerivedCatalogsRankAlike(t *testing.T) {
	var tools, kept []Tool
	for i := range 60 {
		tool := Tool{Name: fmt.Sprintf("t%d", i), Description: "calender" + string(rune('a'+i%26)) + " calendar"}
		tools = append(tools, tool)
		if i%3 == 0 {
			kept = append(kept, tool)
		}
	}
	whole := build(t, tools...)
	names := map[string]bool{}
	for _, k := range kept {
		names[k.Name] = true
	}
	filtered, fresh := whole.Filter(func(t *Tool) bool { return names[t.Name] }), build(t, kept...)
	for _, query := range []string{"calendr", "calenderx", "calendera", "schedule"} {
		if diff := cmp.Diff(ids(fresh.Search(query, 20)), ids(filtered.Search(query, 20))); diff != "" {
			t.Errorf("%q (-fresh +filtered)\n%s", query, diff)
		}
	}
}

func TestSearchLimits(t *testing.T) {
	var tools []Tool
	for i := range 100 {
		tools = append(tools, Tool{Name: fmt.Sprintf("thing_%03d", i), Description: "a thing"})
	}
	for _, test := range []struct {
		o           Options
		limit, want int
	}{
		{Options{}, 0, 8}, {Options{}, -1, 8}, {Options{}, 3, 3}, {Options{}, 50, 50}, {Options{}, 1000, 50},
		{Options{DefaultLimit: 5, MaxLimit: 20}, 0, 5}, {Options{DefaultLimit: 5, MaxLimit: 20}, 30, 20},
		{Options{DefaultLimit: 30, MaxLimit: 20}, 0, 20},
	} {
		c, err := New(tools, test.o)
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{"", " \n", "thing"} {
			found := c.Search(query, test.limit)
			if len(found) != test.want || found[0].Name != "thing_000" || found[test.want-1].Name != fmt.Sprintf("thing_%03d", test.want-1) {
				t.Errorf("%+v, limit %d, query %q: %v", test.o, test.limit, query, ids(found))
			}
		}
	}
	if found := build(t).Search("", 5); found == nil || len(found) != 0 {
		t.Errorf("empty catalog: %v", found)
	}
	if found := build(t).Search("x", 5); found == nil || len(found) != 0 {
		t.Errorf("empty catalog: %v", found)
	}
}

func TestLimit(t *testing.T) {
	c := build(t)
	for options, want := range map[string]int{
		"": 8, "null": 8, "{}": 8, `{"limit":null}`: 8, `{"limit":"5"}`: 8, `{"limit":5}`: 5, `{"limit":5.0}`: 5, `{"limit":1e9}`: 50, `{"limit":51}`: 50,
	} {
		if got, err := c.Limit(json.RawMessage(options)); err != nil || got != want {
			t.Errorf("%s: %d, %v", options, got, err)
		}
	}
	for _, options := range []string{`{"limit":0}`, `{"limit":-1}`, `{"limit":1.5}`} {
		if _, err := c.Limit(json.RawMessage(options)); !errors.Is(err, InvalidLimit) || err.Error() != "limit must be a positive integer." {
			t.Errorf("%s: %v", options, err)
		}
	}
	for _, options := range []string{`[1]`, `5`, `{`} {
		if _, err := c.Limit(json.RawMessage(options)); !errors.Is(err, InvalidLimit) {
			t.Errorf("%s: %v", options, err)
		}
	}
}

func TestEachWord(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"Hello, World!":                "hello world",
		"list_issues":                  "list issues",
		"listIssues":                   "list issues listissues",
		"HTTPServer":                   "http server httpserver",
		"parseHTTPSUrlV2":              "parse https url v2 parsehttpsurlv2",
		"OAuth2":                       "o auth2 oauth2",
		"ABC":                          "abc",
		"aB":                           "a b ab",
		"x1y2":                         "x1y2",
		"naïve Größe":                  "naïve größe",
		"日本語":                          "日本 本語",
		"日":                            "日",
		strings.Repeat("a", 65) + " b": "b",
	} {
		var got []string
		eachWord(text, func(w string) { got = append(got, w) })
		if joined := strings.Join(got, " "); joined != want {
			t.Errorf("%q: %q, want %q", text, joined, want)
		}
	}
}

// TestConcurrentFirstUse has many goroutines meet on what is made lazily.
func TestConcurrentFirstUse(t *testing.T) {
	c := library(t)
	want := ids(library(t).Search("issue file", 5))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got := ids(c.Search("issue file", 5)); !slices.Equal(got, want) {
				t.Errorf("search: %v, want %v", got, want)
			}
			if err := c.ValidateInput("quoin:issues:list_issues", json.RawMessage(`{"repo":"a"}`)); err != nil {
				t.Error(err)
			}
			if _, err := c.Resolve("list_isues"); err == nil {
				t.Error("resolved")
			}
			if len(c.GuestEntriesJSON()) == 0 || len(c.SafeNamesJSON()) == 0 || c.Fingerprint() == "" {
				t.Error("empty views")
			}
		})
	}
	wg.Wait()
}

// FuzzSearch gives hostile queries: nothing panics, and the result is bounded
// and without repetition.
func FuzzSearch(f *testing.F) {
	for _, q := range []string{"list issues", "", "日本語 writeFile", "\xff", "HTTPServer'S", strings.Repeat("aB", 2000)} {
		f.Add(q, 5)
	}
	c := library(f)
	f.Fuzz(func(t *testing.T, query string, limit int) {
		found := c.Search(query, limit)
		seen := map[string]bool{}
		for _, e := range found {
			if seen[e.ID] {
				t.Fatalf("%q: %v", query, ids(found))
			}
			seen[e.ID] = true
		}
		if len(found) > 50 || limit > 0 && len(found) > limit {
			t.Fatalf("%d results for limit %d", len(found), limit)
		}
		if _, err := c.Resolve(query); err != nil && len(err.Error()) > 800 {
			t.Fatalf("a message of %d bytes", len(err.Error()))
		}
	})
}

// TestNamesAsWrittenComeFirst: a tool with exactly the query as its name stands before tools
// with the query as their safe name, and before names in another case.
func TestNamesAsWrittenComeFirst(t *testing.T) {
	c, err := New([]Tool{{Name: "a b"}, {Name: "A_B"}, {Name: "a.b"}, {Name: "a_b", Owner: "z"}, {Name: "other", Description: "a_b a_b a_b"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range c.Search("a_b", 10) {
		got = append(got, e.Name)
	}
	if want := []string{"a_b", "a b", "a.b", "A_B", "other"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
