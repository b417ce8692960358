package mcp

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestOddPages: what cannot be read of a page is named, and the rest stays.
func TestOddPages(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"properties":{"n":`, 60) + `{}` + strings.Repeat(`}}`, 60)
	for name, c := range map[string]struct{ page, tools, next, left string }{
		"cursor false":  {`{"tools":[{"name":"a"}],"nextCursor":false}`, "a", "", "the nextCursor of the page must be a text, and is false"},
		"cursor zero":   {`{"tools":[{"name":"a"}],"nextCursor":0}`, "a", "", "and is 0"},
		"cursor object": {`{"tools":[{"name":"a"}],"nextCursor":{}}`, "a", "", "and is {}"},
		"cursor null":   {`{"tools":[{"name":"a"}],"nextCursor":null}`, "a", "", ""},
		"cursor":        {`{"tools":[{"name":"a"}],"nextCursor":"x"}`, "a", "x", ""},
		"no tools":      {`{"tools":null}`, "", "", ""},
		"with holes":    {`{"tools":{"0":{"name":"b"},"2":{"name":"a"}}}`, "b a", "", ""},
		"the list":      {`[{"name":"a"}]`, "a", "", ""},
		"deep input":    {`{"tools":[{"name":"a","inputSchema":` + deep + `},{"name":"b"}]}`, "a b", "", "[a (it is nested more than 100 levels deep)]"},
		"deep output":   {`{"tools":[{"name":"a","outputSchema":` + deep + `},{"name":"b"}]}`, "a b", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &listing{server: &Server{Name: "s"}, log: slog.New(slog.DiscardHandler), offered: pinnedTools{}}
			next, err := l.page([]byte(c.page), 1)
			var names []string
			for _, tool := range l.tools {
				names = append(names, tool.Name)
			}
			if err != nil || strings.Join(names, " ") != c.tools || (next != nil) != (c.next != "") || next != nil && *next != c.next {
				t.Errorf("tools %q, next %v, %v", names, next, err)
			}
			if got := fmt.Sprint(l.left); !strings.Contains(got, c.left) || c.left == "" && len(l.left) > 0 {
				t.Errorf("left out %s, want %q", got, c.left)
			}
		})
	}
	l := &listing{server: &Server{Name: "s"}, offered: pinnedTools{}}
	if _, err := l.page([]byte(`{"tools":7}`), 1); err == nil || !stays(err) {
		t.Errorf("tools that are a number: %v", err)
	}
}
