package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
)

// TestAnswersAreNotKept: what a server answers to one session is not given to another,
// however long a client may keep it.
func TestAnswersAreNotKept(t *testing.T) {
	t.Parallel()
	s, asked := goodServer("net"), atomic.Int64{}
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, r)
			if err != nil {
				return res, err
			}
			mine := fmt.Sprint("answer-", asked.Add(1))
			switch res := res.(type) {
			case *sdk.ReadResourceResult:
				res.TTLMs, res.CacheScope, res.Contents = 3_600_000, "private", []*sdk.ResourceContents{{URI: "memo://one", Text: mine}}
			case *sdk.ListResourcesResult:
				res.TTLMs, res.CacheScope, res.Resources = 3_600_000, "private", []*sdk.Resource{{URI: "memo://one", Name: mine}}
			case *sdk.ListPromptsResult:
				res.TTLMs, res.CacheScope, res.Prompts = 3_600_000, "private", []*sdk.Prompt{{Name: mine}}
			}
			return res, nil
		}
	})
	w := connect(t, Options{}, Server{Name: "net", URL: serveHTTP(t, s, stateless(s))})
	if p := w.Status()[0].Protocol; p != statelessVersion {
		t.Fatalf("it speaks %s", p)
	}
	for op, input := range map[Operation]string{ResourcesRead: `{"uri":"memo://one"}`, ResourcesList: `{}`, PromptsList: `{}`} {
		t.Run(string(op), func(t *testing.T) {
			seen := map[string]bool{}
			for _, who := range []string{"ada", "bob"} {
				raw, err := w.Call(t.Context(), Request{Server: "net", Tool: string(op), Input: json.RawMessage(input), Session: codemode.Session{SessionKey: who}})
				if err != nil || !strings.Contains(string(raw), "answer-") || seen[string(raw)] {
					t.Errorf("%s got %s, %v", who, raw, err)
				}
				seen[string(raw)] = true
			}
		})
	}
}
