package mcp

import (
	"context"
	"encoding/json"

	"github.com/quoinhq/quoin/host/codemode"
)

// Request is one call of a tool or an operation of a server.
type Request struct {
	Server, Tool string
	// Input is a JSON object.
	Input json.RawMessage
	// Session is who calls: a server may know each user by credentials of his own.
	Session codemode.Session
	// RunID and IdempotencyKey name the run and the call; the server gets digests of them,
	// and Epoch. They may be empty.
	RunID, IdempotencyKey string
	Epoch                 uint64 // higher in each host that takes the run over
	// Resumption is set when the call is made again after it returned a
	// *codemode.InputRequired, and a person has answered.
	Resumption *codemode.Resumption
	// Progress is told how far the call is, if the server says so: an object with done, and
	// perhaps total and message. It may be nil.
	Progress func(json.RawMessage)
	// Ask puts a question of the server to a person while the call runs. It may be nil.
	Ask func(context.Context, codemode.Question) (codemode.QuestionAnswer, error)
}
