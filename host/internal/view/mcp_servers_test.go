package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/namespaces"
)

// TestManyToolsCostFewTokens: a thousand operations cost at most 300 tokens, at three
// bytes a token, which is more than a tokenizer needs for names.
func TestManyToolsCostFewTokens(t *testing.T) {
	const most, bytesPerToken = 300, 3
	var tools []catalog.Tool
	for i := range 1000 {
		tools = append(tools, catalog.Tool{Name: fmt.Sprintf("repositories/list-something-for-%d", i), Description: strings.Repeat("text ", 100), Source: catalog.SourceMCP, Owner: "github"})
	}
	c, err := catalog.New(tools, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	block := view.MCPBlock(view.New(c, &namespaces.Registry{}, view.MCPServerIdentifiers([]string{"github"})), view.MaxMCPBlock)
	if len(block) > most*bytesPerToken || !strings.Contains(block, "github (1000)") || !strings.Contains(block, "repositoriesListSomethingFor0") || !strings.HasSuffix(block, ", …") {
		t.Errorf("%d bytes: %s", len(block), block)
	}
}
