package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/internal/awake"
	"github.com/quoinhq/quoin/internal/text"
)

// DefaultHookTimeout bounds one call of a hook that has no timeout of its own.
const DefaultHookTimeout = 5 * time.Second

// Chain is hooks in order. It is immutable, and safe for concurrent use if the
// hooks are.
type Chain struct {
	hooks []chained
}

// chained is a hook with its patterns read.
type chained struct {
	Hook
	tools Patterns
}

// NewChain returns a chain of the hooks, in their order. A timeout of 0 means
// DefaultHookTimeout. Hooks without a name get their position for one. A bad
// pattern is a *PatternError; a hook without functions is an error too, since a
// guard that was forgotten would let everything pass.
func NewChain(hooks []Hook, timeout time.Duration) (*Chain, error) {
	if timeout <= 0 {
		timeout = DefaultHookTimeout
	}
	c := &Chain{hooks: make([]chained, 0, len(hooks))}
	for i, h := range hooks {
		if h.Name == "" {
			h.Name = fmt.Sprintf("hook %d", i+1)
		}
		if h.Timeout <= 0 {
			h.Timeout = timeout
		}
		tools, err := ParsePatterns(fmt.Sprintf("tools of the hook %q", h.Name), h.Tools)
		if err != nil {
			return nil, err
		}
		if h.Before == nil && h.After == nil {
			return nil, fmt.Errorf("the hook %q does nothing: give it Before, After or both", h.Name)
		}
		c.hooks = append(c.hooks, chained{Hook: h, tools: tools})
	}
	return c, nil
}

// With returns a chain with the hooks of c and then the hooks of another chain.
func (c *Chain) With(other *Chain) *Chain {
	return &Chain{hooks: slices.Concat(c.hooks, other.hooks)}
}

// Len is the number of hooks.
func (c *Chain) Len() int { return len(c.hooks) }

// wants reports whether the hook looks at the call.
func (h *chained) wants(c *Call) bool {
	if len(h.Tools) > 0 && !h.tools.Match(Tool{Source: c.Source, Owner: c.Owner, Name: c.ToolName}) {
		return false
	}
	return h.Only == nil || h.Only(c)
}

// Block says that a call must not happen.
type Block struct {
	// Hook is the name of the hook that blocks.
	Hook string
	// Reason is the hook's, for the model; empty if it gave no reason or failed.
	Reason string
	// Err is set when the hook failed rather than decided. It is for operators.
	Err error
}

// Ruling is what all before-hooks say together.
type Ruling struct {
	// Params are the parameters to use.
	Params json.RawMessage
	// Block is not nil if the call must not happen. Then nothing else counts.
	Block *Block
	// Asks are the requests for approval, in the order of the hooks.
	Asks []Ask
}

// Before runs the before-hooks on a call. check is called with each rewrite: it
// returns the parameters as they are to be used, or says why they cannot be; nil
// accepts every object.
func (c *Chain) Before(ctx context.Context, call Call, check func(before, after json.RawMessage) (json.RawMessage, error)) Ruling {
	out := Ruling{Params: call.Params}
	for i := range c.hooks {
		h := &c.hooks[i]
		if h.Before == nil || !h.wants(&call) {
			continue
		}
		seen := call
		seen.Params = bytes.Clone(out.Params)
		v, err := within(ctx, h.Timeout, func(ctx context.Context) (Verdict, error) { return h.Before(ctx, &seen) })
		if err == nil && v.Block {
			out.Block = &Block{Hook: h.Name, Reason: text.Cut(plain(v.Reason), maxReason)}
			return out
		}
		if err == nil {
			err = out.take(h.Name, v, check)
		}
		if err != nil {
			out.Block = &Block{Hook: h.Name, Err: err}
			return out
		}
	}
	return out
}

// take adds a verdict that does not block, or says why it is not valid.
func (r *Ruling) take(name string, v Verdict, check func(before, after json.RawMessage) (json.RawMessage, error)) error {
	if v.Reason != "" {
		return errors.New("it gave a reason to block, but did not block")
	}
	if v.Params != nil {
		params, err := object(v.Params)
		if err == nil && check != nil {
			params, err = check(r.Params, params)
		}
		if err != nil {
			return fmt.Errorf("it rewrote the parameters: %w", err)
		}
		if !bytes.Equal(params, r.Params) {
			r.markRewritten()
		}
		r.Params = params
	}
	if v.Approval != nil {
		req, err := v.Approval.resolved()
		if err != nil {
			return err
		}
		r.Asks = append(r.Asks, Ask{Hook: name, ApprovalRequest: req})
	}
	return nil
}

// markRewritten notes that the requests so far are about parameters that have been
// rewritten since. It keeps them from being answered by, or becoming, an allow-always for
// their subjects.
func (r *Ruling) markRewritten() {
	for i, a := range r.Asks {
		r.Asks[i].Rewritten = true
		if a.Subject != "" {
			r.Asks[i].Allowed = slices.DeleteFunc(slices.Clone(a.Allowed), func(d Decision) bool { return d == AllowAlways })
		}
	}
}

// object returns a copy of params if they are one JSON object.
func object(params json.RawMessage) (json.RawMessage, error) {
	trimmed := bytes.TrimSpace(params)
	if len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(trimmed) {
		return nil, errors.New("they are not a JSON object")
	}
	return bytes.Clone(trimmed), nil
}

// After runs the after-hooks on a call that reached its tool and returns the
// value to use. The error names the hook that failed: then the result must be
// withheld.
func (c *Chain) After(ctx context.Context, call Call, o Outcome) (json.RawMessage, error) {
	for i := len(c.hooks) - 1; i >= 0; i-- {
		h := &c.hooks[i]
		if h.After == nil || !h.wants(&call) {
			continue
		}
		seenCall, seen := call, o
		seenCall.Params, seen.Value = bytes.Clone(call.Params), bytes.Clone(o.Value)
		v, err := within(ctx, h.Timeout, func(ctx context.Context) (json.RawMessage, error) { return h.After(ctx, &seenCall, seen) })
		if err == nil && v != nil {
			v, err = replacement(o, v)
		}
		if err != nil {
			return nil, &HookError{Hook: h.Name, Err: err}
		}
		if v != nil {
			o.Value = v
		}
	}
	return o.Value, nil
}

// replacement checks the value that an after-hook puts in place of a result. A
// hook cannot turn a failed call into a successful one.
func replacement(o Outcome, v json.RawMessage) (json.RawMessage, error) {
	if o.Status != StatusOK {
		return nil, errors.New("it gave a value to a call that failed")
	}
	if !json.Valid(v) {
		return nil, errors.New("it replaced the value by something that is not JSON")
	}
	return bytes.Clone(v), nil
}

// HookError says which hook failed.
type HookError struct {
	Hook string
	Err  error
}

// Error names the hook and the cause.
func (e *HookError) Error() string { return fmt.Sprintf("hook %q failed: %v", e.Hook, e.Err) }

// Unwrap returns the cause.
func (e *HookError) Unwrap() error { return e.Err }

// errHookTimeout is the cause with which the context of a slow hook ends.
var errHookTimeout = errors.New("it did not answer in time")

// errNoAnswer means that a hook ended its goroutine, as runtime.Goexit does.
var errNoAnswer = errors.New("it ended without an answer")

// within runs f and returns when it does, or when its time is over: a hook that
// does not listen to its context keeps running, and its result is dropped.
func within[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	bounded, cancel := awake.WithTimeoutCause(ctx, limit, fmt.Errorf("%w (%v)", errHookTimeout, limit))
	defer cancel()
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: errNoAnswer} // stands if f ends its goroutine
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("it panicked: %v\n%s", p, strings.TrimSpace(string(debug.Stack())))
			}
			done <- a
		}()
		a.v, a.err = f(bounded)
	}()
	var a answer
	select {
	case a = <-done:
	case <-bounded.Done():
	}
	if a.err == nil {
		a.err = cmp.Or(context.Cause(ctx), context.Cause(bounded)) // with an answer too: f may have given up rather than decided
	}
	if a.err != nil {
		var none T
		return none, a.err
	}
	return a.v, nil
}
