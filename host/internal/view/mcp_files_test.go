package view_test

import (
	"fmt"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/namespaces"
)

// TestAServerOfManyToolsIsReadByName: a guest that needs one of very many tools asks for
// that one, by its identifier or its name, and for the others only when it lists them.
func TestAServerOfManyToolsIsReadByName(t *testing.T) {
	t.Parallel()
	files := func(tools ...string) *view.View {
		var all []catalog.Tool
		for _, name := range append(tools, "resources_list") {
			all = append(all, catalog.Tool{Name: name, Source: catalog.SourceMCP, Owner: "hub"})
		}
		c, err := catalog.New(all, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return view.New(c, &namespaces.Registry{}, view.MCPServerIdentifiers([]string{"hub"}))
	}
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("do-%d", i))
	}
	large := files(append(many, "then", "do299")...)
	const operation = `{"identifier":"resources.list","name":"resources_list","operation":"resources_list"}`
	for path, want := range map[string]string{
		"mcp/hub.json":                 `{"more":true,"tools":[` + operation + `]}`,
		"mcp/hub/tools/do7":            `{"identifier":"do7","name":"do-7"}`,
		"mcp/hub/tools/do-7":           `{"identifier":"do7","name":"do-7"}`,
		"mcp/hub/tools/do299":          `{"identifier":"do299","name":"do-299"}`,
		"mcp/hub/tools/then":           `{"identifier":"then2","name":"then"}`,
		"mcp/hub/tools/resources_list": ``,
		"mcp/hub/tools/":               ``,
		"mcp/hub/tools/no":             ``,
	} {
		got, found := large.MCPFile(path)
		if string(got) != want || found != (want != "") {
			t.Errorf("%s: %s, %t", path, got, found)
		}
	}
	if got, _ := files("a", "b-c").MCPFile("mcp/hub.json"); string(got) != `{"tools":[{"identifier":"a","name":"a"},{"identifier":"bC","name":"b-c"},`+operation+`]}` {
		t.Errorf("a small server: %s", got)
	}
}
