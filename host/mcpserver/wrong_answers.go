package mcpserver

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/policy"
)

// A program may answer in place of a person, and answer wrongly as often as it is asked. It is
// told what is wrong, and after a few times the answer is no.

// maxWrongAnswers is how often an approval may be answered in a way that does not fit.
const maxWrongAnswers = 3

// maxCounted bounds the approvals that wrong answers are counted for.
const maxCounted = 10_000

// count counts one more wrong answer, or forgets an approval once its answer fits.
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
