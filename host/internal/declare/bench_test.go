package declare_test

import (
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/declare"
)

func BenchmarkTool(b *testing.B) {
	tool := &catalog.Tool{Name: "list_issues", Owner: "issues", Source: catalog.SourceQuoin, Description: "Lists issues of a repository.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"repo":{"type":"string","description":"owner/name"},"state":{"enum":["open","closed"]},"limit":{"type":"integer"}},"required":["repo"]}`),
		Output:     json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"number":{"type":"integer"},"title":{"type":"string"}}}}}}`)}
	for b.Loop() {
		declare.Tool(tool, "list_issues")
	}
}
