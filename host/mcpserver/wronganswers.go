package mcpserver

import (
	"context"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// A program may answer in place of a person, and answer wrongly as often as it is asked. It is
// told what is wrong, and after a few times the answer is no.

// maxWrongAnswers is how often an approval may be answered in a way that does not fit.
const maxWrongAnswers = 3

// maxCounted bounds the approvals whose wrong answers are counted.
const maxCounted = 10_000

// wrongAnswers counts the answers that did not fit, by approval.
type wrongAnswers struct {
	mu     sync.Mutex
	counts map[string]int
}

// count counts one more, or forgets an approval whose answer fits.
func (w *wrongAnswers) count(id string, fits bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts == nil || len(w.counts) >= maxCounted {
		w.counts = map[string]int{}
	}
	w.counts[id]++
	n := w.counts[id]
	if fits || n >= maxWrongAnswers {
		delete(w.counts, id)
	}
	return n
}

// doesNotFit reports whether an answer was not taken because of what it says.
func doesNotFit(err error) bool {
	return errors.Is(err, policy.ErrInvalidAnswer) || errors.Is(err, policy.ErrNotAllowed)
}

// enter enters what a client has answered about an approval. After a few answers that do not
// fit, the client has declined.
func (c *toolCall) enter(ctx context.Context, a *policy.Approval, answers mcp.InputResponseMap) (outcome, error) {
	out, err := c.entered(ctx, a, answers)
	n := c.server.wrong.count(a.ID, !doesNotFit(err))
	if !doesNotFit(err) {
		return out, err
	}
	c.server.options.Logger.Warn("an MCP client has answered what does not fit the question", "approval", a.ID, "run", a.RunID, "tool", a.ToolID, "times", n, "declined", n >= maxWrongAnswers)
	if n < maxWrongAnswers {
		return out, err
	}
	no := mcp.InputResponseMap{a.ID: &mcp.ElicitResult{Action: string(codemode.AnswerDecline)}}
	for i := range a.Questions {
		no[questionKey(a, i)] = no[a.ID]
	}
	return c.entered(ctx, a, no)
}

// givenAnswer is what a client has answered. The library refuses an answer that does not fit
// and says only that.
type givenAnswer struct{ result *mcp.ElicitResult }

// givenKey is the context key of a givenAnswer.
type givenKey struct{}

// keepAnswers notes the answers of clients before the library checks them.
func keepAnswers(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if given, ok := ctx.Value(givenKey{}).(*givenAnswer); ok && err == nil {
			given.result, _ = res.(*mcp.ElicitResult)
		}
		return res, err
	}
}
