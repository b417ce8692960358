package mcpcmd

import (
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/mcp"
)

// TestLeftOutIsPrinted: a server without tools says why it has none.
func TestLeftOutIsPrinted(t *testing.T) {
	t.Parallel()
	tried := &triedServer{Name: "api", State: mcp.StateConnected, LeftOut: []mcp.LeftOut{{Reason: "gone\x1b[2J", Count: 7, Tools: []string{"a (x.yml)", "b"}}}}
	var out strings.Builder
	if tried.print(&out); !strings.Contains(out.String(), "\nleft out, 7 tools: gone\\x1b[2J\n  a (x.yml), b, 5 more\n") {
		t.Error(out.String())
	}
	tried.LeftOut = []mcp.LeftOut{{Reason: "unreadable", Count: 1, Tools: []string{"a (required is null)"}, Parts: true}}
	out.Reset()
	if tried.print(&out); !strings.HasSuffix(out.String(), "\nleft out, parts of the input schemas of 1 tool: unreadable\n  a (required is null)\n") {
		t.Error(out.String())
	}
	tried.LeftOut = make([]mcp.LeftOut, maxReasons+2)
	out.Reset()
	if tried.print(&out); !strings.HasSuffix(out.String(), "left out for 2 more reasons, which --json has\n") {
		t.Error(out.String())
	}
}
