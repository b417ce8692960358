package mcp

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/oauth"
)

// signInAsked is what a call has behind it after the question to sign in; nil without one.
func signInAsked(err error) *signInRounds {
	var ask *codemode.InputRequired
	if !errors.As(err, &ask) || len(ask.Questions) != 1 || ask.Questions[0].Kind != codemode.QuestionAuthorization {
		return nil
	}
	return signInStateOf(&codemode.Resumption{State: ask.State})
}

// TestSignInsOfOneCallAreBounded: a server that is never content is given up.
func TestSignInsOfOneCallAreBounded(t *testing.T) {
	t.Parallel()
	c := callOf(peer{name: "s", signer: &signer{target: &oauth.Server{}}})
	for rounds := range maxSignIns + 2 {
		_, err := c.signInFor(&signInRounds{Rounds: rounds}, nil, &oauth.Required{Server: "s"})
		var e *Error
		if asked := signInAsked(err); rounds < maxSignIns && (asked == nil || asked.Rounds != rounds+1) ||
			rounds >= maxSignIns && (!errors.As(err, &e) || e.Code != CodeUnauthorized) {
			t.Errorf("after %d sign-ins: %v", rounds, err)
		}
	}
}

// TestATaskThatWantsASignInIsNotCalledAgain: what follows the sign-in asks for the task that
// the server has.
func TestATaskThatWantsASignInIsNotCalledAgain(t *testing.T) {
	t.Parallel()
	c := callOf(peer{name: "s", signer: &signer{target: &oauth.Server{}}})
	first := &codemode.Resumption{State: json.RawMessage(`{}`)}
	state := resumeState{Kind: resumeTask, Task: &task{ID: "T 1"}, Answered: []string{"q1"}}
	_, err := c.signInFor(&signInRounds{Resumption: first}, nil, &taskRefused{state, &oauth.Required{Server: "s"}})
	behind := signInAsked(err)
	if behind == nil || behind.Resumption == nil {
		t.Fatalf("got %v, and behind it %+v", err, behind)
	}
	again, err := resumptionOf(behind.Resumption)
	if err != nil || again == nil || again.Kind != resumeTask || again.Task == nil || again.Task.ID != "T 1" || len(again.Answered) != 1 {
		t.Errorf("it goes on with %s, %v", behind.Resumption.State, err)
	}
}
