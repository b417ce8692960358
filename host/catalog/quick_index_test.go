package catalog_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/catalog"
)

func TestQuickIndex(t *testing.T) {
	c, err := catalog.New([]catalog.Tool{
		{Name: "list", Owner: "issues", Description: "Lists issues.  Newest\nfirst. And more.", Parameters: json.RawMessage(`{"type":"object","properties":{"state":{"enum":["open","closed"]}}}`),
			Output: json.RawMessage(`{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}`)},
		{Name: "web search", Description: strings.Repeat("é", 200)},
		{Name: "twice", Owner: "a"}, {Name: "twice", Owner: "b"},
		{Name: "search", Description: "A helper's name."},
		{Name: "create", Owner: "issues", Description: "Makes an issue.", Examples: []catalog.Example{
			{Input: json.RawMessage(`{}`)}, {Input: json.RawMessage(`{"title":"` + strings.Repeat("x", 200) + `"}`)}, {Input: json.RawMessage("{\n \"title\": \"Crash\\non save\"\n}")}, {Input: json.RawMessage(`{"title":"no"}`)},
		}},
		{Name: "hidden", Source: catalog.SourceMCP, Owner: "s"},
	}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`tools.call("quoin:core:search", {})  A helper's name.`,
		`tools.web_search({})  ` + strings.Repeat("é", 58) + "…",
		`tools.call("quoin:a:twice", {})`,
		`tools.call("quoin:b:twice", {})`,
		`tools.create({})  Makes an issue.  E.g. {"title":"Crash\non save"}`,
		`tools.list({ state?: "open"|"closed" }) => { id: integer }[]  Lists issues.`,
	}
	if d := cmp.Diff(want, strings.Split(c.QuickIndex(), "\n")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if empty, err := catalog.New(nil, catalog.Options{}); err != nil || empty.QuickIndex() != "" {
		t.Errorf("an empty catalog has the index %q, %v", empty.QuickIndex(), err)
	}
}

// TestQuickIndexIsBoundedAndCallable: whatever the tools, the index has at most
// 8,000 characters, is the same for them in any order, counts what it leaves out,
// and every line of it calls a tool.
func TestQuickIndexIsBoundedAndCallable(t *testing.T) {
	expression := regexp.MustCompile(`^tools\.(?:call\(("(?:[^"\\]|\\.)*"), |([^\s(]+)\()`)
	for _, n := range []int{1, 40, 150, 400, 10_000} {
		tools := make([]catalog.Tool, n)
		for i := range tools {
			tools[i] = catalog.Tool{
				Name: fmt.Sprintf("tool-%d %sx", i, strings.Repeat("x", i%50)), Owner: fmt.Sprintf("owner%d", i%7),
				Description: strings.Repeat("Does things ünlike others ", i%9), Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}}}`),
				Examples: []catalog.Example{{Input: json.RawMessage(`{"a":"` + strings.Repeat("ü", i%80) + `"}`)}},
			}
		}
		c, err := catalog.New(tools, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := c.QuickIndex()
		if utf8.RuneCountInString(text) > catalog.QuickIndexBytes || !utf8.ValidString(text) {
			t.Errorf("%d tools: %d characters", n, utf8.RuneCountInString(text))
		}
		slices.Reverse(tools)
		if again, err := catalog.New(tools, catalog.Options{}); err != nil || again.QuickIndex() != text {
			t.Errorf("%d tools: another order gives another index (%v)", n, err)
		}
		lines, left := strings.Split(text, "\n"), 0
		if _, err := fmt.Sscanf(lines[len(lines)-1], "and %d more", &left); err == nil {
			lines = lines[:len(lines)-1]
		}
		if len(lines)+left != n {
			t.Errorf("%d tools: %d lines and %d more", n, len(lines), left)
		}
		for _, line := range lines {
			m := expression.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("no call: %s", line)
			}
			id := c.SafeNames()[m[2]]
			if m[1] != "" {
				if err := json.Unmarshal([]byte(m[1]), &id); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.Resolve(id); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}
