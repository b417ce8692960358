package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/oauth"
)

// maxSignIns is how often one call may ask for a sign-in. A server that is not content
// after that never will be.
const maxSignIns = 3

// signInQuestion is the id of the question in a call that waits for a sign-in.
const signInQuestion = "sign-in"

// signInState is the state of such a call.
type signInState struct {
	SignIn *signInRounds `json:"signIn"`
}

// signInRounds is what a call has behind it when it asks for a sign-in.
type signInRounds struct {
	Rounds int `json:"rounds"`
	// Resumption is what the call was resumed with, for when it is made again.
	Resumption *codemode.Resumption `json:"resumption,omitempty"`
}

// callSignedIn makes a call. Where a person has to sign in first, the error is a question
// to that person, and the call has had no effect.
func (k *keeper) callSignedIn(ctx context.Context, r Request) (json.RawMessage, error) {
	if k.signer == nil {
		return k.call(ctx, r)
	}
	behind := &signInRounds{Resumption: r.Resumption}
	if state := signInStateOf(r.Resumption); state != nil {
		behind, r.Resumption = state, state.Resumption
	}
	ctx = oauth.WithCaller(ctx, r.Session)
	if err := k.awaitSignedIn(ctx, r.Session); err != nil {
		return k.signInFor(r, behind, nil, err)
	}
	raw, err := k.call(ctx, r)
	return k.signInFor(r, behind, raw, err)
}

// signInFor returns the answer of a call that has so much behind it, or the question to sign
// in.
func (k *keeper) signInFor(r Request, behind *signInRounds, raw json.RawMessage, err error) (json.RawMessage, error) {
	var required *oauth.Required
	var failed *oauth.Error
	var task *taskRefused
	if errors.As(err, &task) {
		state, err := json.Marshal(task.state)
		if err != nil {
			return nil, err
		}
		behind.Resumption = &codemode.Resumption{State: state}
	}
	switch {
	case errors.As(err, &failed):
		return nil, &Error{Unknown: task != nil, Code: CodeUnauthorized, Server: k.name, Message: fmt.Sprintf("MCP server %s wants a sign-in, which failed: %s", k.name, bounded(failed.Error(), maxErrorText)), Err: failed}
	case !errors.As(err, &required):
		return raw, err
	case behind.Rounds >= maxSignIns:
		return nil, &Error{Unknown: task != nil, Code: CodeUnauthorized, Server: k.name, Message: fmt.Sprintf("MCP server %s refused the call of %q after %d sign-ins.", k.name, r.Tool, maxSignIns)}
	}
	return nil, k.askToSignIn(required, behind)
}

// signInStateOf returns what a call has behind it that waited for a sign-in, or nil.
func signInStateOf(r *codemode.Resumption) *signInRounds {
	var state signInState
	if r == nil || json.Unmarshal(r.State, &state) != nil {
		return nil
	}
	return state.SignIn
}

// askToSignIn makes the question of a call that waits for a sign-in.
func (k *keeper) askToSignIn(required *oauth.Required, behind *signInRounds) error {
	state, err := json.Marshal(signInState{&signInRounds{Rounds: behind.Rounds + 1, Resumption: behind.Resumption}})
	if err != nil {
		return err
	}
	q := codemode.Question{ID: signInQuestion, Kind: codemode.QuestionAuthorization, From: k.name, URL: required.Link}
	q.Message = fmt.Sprintf("%s wants you to sign in: run quoin mcp login %s.", k.name, k.name)
	if q.URL != "" {
		q.Message = fmt.Sprintf("%s wants you to sign in. Open the link, or run quoin mcp login %s.", k.name, k.name)
	}
	if !k.signer.target.PerUser {
		q.Message += " The calls of all who use this host are then made in your name."
	}
	return &codemode.InputRequired{Questions: []codemode.Question{q}, State: state}
}

// awaitSignedIn waits for the connection of a server that had to do without because no one was
// signed in, if someone is by now. Otherwise it says that a person has to sign in.
func (k *keeper) awaitSignedIn(ctx context.Context, s codemode.Session) error {
	ctx, cancel := context.WithTimeout(ctx, k.server.ConnectTimeout)
	defer cancel()
	for {
		k.mu.Lock()
		required, stamp, turn := k.required, k.requiredStamp, k.turn
		k.mu.Unlock()
		switch {
		case required == nil:
			return nil
		case k.signer.stamp(ctx) != stamp: // the keeper is about to try it
		case k.signer.target.PerUser:
			return &Error{Code: CodeUnauthorized, Server: k.name, Message: fmt.Sprintf("MCP server %s is not connected, because it lists its tools only to those who are signed in. An operator has to run quoin mcp login %s.", k.name, k.name)}
		default:
			return k.signer.client.Require(ctx, k.signer.target, k.signer.target.OwnerOf(s), required.Challenge)
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return &Error{Code: CodeUnavailable, Server: k.name, Message: fmt.Sprintf("MCP server %s is not connected.", k.name)}
		}
	}
}

// pauseForSignIn waits until someone has signed in, at most d, and reports false when ctx
// has ended.
func (k *keeper) pauseForSignIn(ctx context.Context, stamp string, d time.Duration) bool {
	ctx, cancel := context.WithTimeoutCause(ctx, d, errPaused)
	defer cancel()
	for k.signer.stamp(ctx) == stamp {
		if !pause(ctx, min(k.options.times.signInCheck, d)) {
			return errors.Is(context.Cause(ctx), errPaused)
		}
	}
	return true
}

var errPaused = errors.New("the pause is over")

// require notes that the server wants a sign-in, and keeps its tools: those that it had,
// or those that are pinned. So programs that wait for a sign-in find them again, in the
// next process too. It reports whether that is why the connection ended.
func (k *keeper) require(ctx context.Context, err error, stamp string) bool {
	var required *oauth.Required
	if k.signer == nil || !errors.As(err, &required) {
		return false
	}
	tools := k.pinnedList(ctx)
	k.mu.Lock()
	fresh := len(k.tools) == 0 && len(tools) > 0
	first := k.status.State == StateConnecting
	if fresh {
		k.adopt(tools)
	}
	since := time.Now()
	if k.required != nil {
		since = k.status.Since
	}
	k.conn, k.offered, k.required, k.requiredStamp = nil, nil, required, stamp
	k.status = Status{Name: k.name, State: StateDown, Error: required, NeedsSignIn: true, Since: since, Tools: countTools(k.tools)}
	k.turned()
	k.mu.Unlock()
	if fresh || first {
		k.publish()
	}
	return true
}
