package executor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/quoinhq/quoin/examples/adapters/executor"
	"github.com/quoinhq/quoin/examples/adapters/internal/adaptertest"
)

func TestMain(m *testing.M) { adaptertest.Main(m) }

// tools are the tools of a gateway. Each call is allowed or refused by the user of the
// request.
func tools() []executor.Tool {
	return []executor.Tool{
		{Name: "github-list-prs", Description: "Lists pull requests.", Call: func(ctx context.Context, in map[string]any) (*mcp.CallToolResult, error) {
			if adaptertest.User(ctx) != "ada" {
				return nil, errors.New("only ada may")
			}
			return mcp.NewToolResultText(fmt.Sprintf(`[{"number": 1, "repo": %q}, {"number": 2, "repo": %q}]`, in["repo"], in["repo"])), nil
		}},
		{Name: "fail", Description: "Fails.", Call: func(context.Context, map[string]any) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultError("the service is down"), nil
		}},
	}
}

const script = `console.log("looking at", repo);
const prs = await tools.github_list_prs({ repo });
return prs.map((pr) => pr.repo + "#" + pr.number);`

func TestExecute(t *testing.T) {
	e := executor.New(adaptertest.Host(t), adaptertest.Session, tools())
	r, err := e.Execute(adaptertest.As("ada"), script, map[string]any{"repo": "quoin"})
	if err != nil || len(r.Content) != 2 {
		t.Fatalf("got %+v, %v", r, err)
	}
	for i, want := range []string{`["quoin#1","quoin#2"]`, "Script logs:\nlooking at quoin"} {
		if got := r.Content[i].(mcp.TextContent).Text; got != want {
			t.Errorf("content %d is %q, want %q", i, got, want)
		}
	}
	if _, err := e.Execute(adaptertest.As("eve"), script, map[string]any{"repo": "quoin"}); err == nil || !strings.Contains(err.Error(), "only ada may") {
		t.Errorf("eve's call: %v", err)
	}
	r, err = e.Execute(adaptertest.As("ada"), `return await tools.fail({}).catch((e) => e.message)`, nil)
	if err != nil || r.Content[0].(mcp.TextContent).Text != `"the service is down"` {
		t.Errorf("a tool that fails: %+v, %v", r, err)
	}
	if _, err := e.Execute(adaptertest.As("ada"), `return 1`, map[string]any{"not a name": 1}); err == nil {
		t.Error("a variable without a name was taken")
	}
	if d := e.ToolDescription(); !strings.Contains(d, "list_prs") {
		t.Errorf("the description does not name the tools: %s", d)
	}
}
