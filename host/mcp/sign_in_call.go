package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

// signedIn makes a call. Where a person has to sign in first, the error is a question
// to that person, and the call has had no effect.
func (c *call) signedIn(ctx context.Context) (json.RawMessage, error) {
	if c.signer == nil {
		return c.make(ctx)
	}
	behind := &signInRounds{Resumption: c.Resumption}
	if state := signInStateOf(c.Resumption); state != nil {
		behind, c.Resumption = state, state.Resumption
	}
	ctx = oauth.WithCaller(ctx, c.Session)
	if err := c.awaitSignedIn(ctx); err != nil {
		return c.signInFor(behind, nil, err)
	}
	raw, err := c.make(ctx)
	return c.signInFor(behind, raw, err)
}

// signInFor returns the answer of a call that has so much behind it, or the question to sign
// in.
func (c *call) signInFor(behind *signInRounds, raw json.RawMessage, err error) (json.RawMessage, error) {
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
		return nil, &Error{Unknown: task != nil, Code: CodeUnauthorized, Server: c.name, Message: fmt.Sprintf("MCP server %s wants a sign-in, which failed: %s", c.name, bounded(failed.Error(), maxErrorText)), Err: failed}
	case !errors.As(err, &required):
		return raw, err
	case behind.Rounds >= maxSignIns:
		return nil, &Error{Unknown: task != nil, Code: CodeUnauthorized, Server: c.name, Message: fmt.Sprintf("MCP server %s refused the call of %q after %d sign-ins.", c.name, c.Tool, maxSignIns)}
	}
	return nil, c.askToSignIn(required, behind)
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
func (c *call) askToSignIn(required *oauth.Required, behind *signInRounds) error {
	state, err := json.Marshal(signInState{&signInRounds{Rounds: behind.Rounds + 1, Resumption: behind.Resumption}})
	if err != nil {
		return err
	}
	q := codemode.Question{ID: signInQuestion, Kind: codemode.QuestionAuthorization, From: c.name, URL: required.Link}
	q.Message = fmt.Sprintf("%s wants you to sign in: run quoin mcp login %s.", c.name, c.name)
	if q.URL != "" {
		q.Message = fmt.Sprintf("%s wants you to sign in. Open the link, or run quoin mcp login %s.", c.name, c.name)
	}
	if !c.signer.target.PerUser {
		q.Message += " The calls of all who use this host are then made in your name."
	}
	return &codemode.InputRequired{Questions: []codemode.Question{q}, State: state}
}

// awaitSignedIn waits for the connection of a server that had to do without because no one was
// signed in, if someone is by now. Otherwise it says that a person has to sign in.
func (c *call) awaitSignedIn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.server.ConnectTimeout)
	defer cancel()
	for {
		c.mu.Lock()
		required, stamp, turn := c.required, c.requiredStamp, c.turn
		c.mu.Unlock()
		switch {
		case required == nil:
			return nil
		case c.signer.stamp(ctx) != stamp: // the keeper is about to try it
		case c.signer.target.PerUser:
			return &Error{Code: CodeUnauthorized, Server: c.name, Message: fmt.Sprintf("MCP server %s is not connected, because it lists its tools only to those who are signed in. An operator has to run quoin mcp login %s.", c.name, c.name)}
		default:
			return c.signer.client.Require(ctx, c.signer.target, c.signer.target.OwnerOf(c.Session), required.Challenge)
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return &Error{Code: CodeUnavailable, Server: c.name, Message: fmt.Sprintf("MCP server %s is not connected.", c.name)}
		}
	}
}
