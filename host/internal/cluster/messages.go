package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/trajectory"
)

// The bounds of messages, in bytes. A request may carry the answer of a caller, which the
// gateway bounds; a reply the result of a run.
const (
	maxRequest = 66 << 20
	maxFrame   = 32 << 20

	// MaxApprovals bounds what people are asked in one reply. The rest of a frame is the result's.
	MaxApprovals = 8 << 20
)

// Verb says what a request wants.
type Verb string

// The verbs.
const (
	VerbWait   Verb = "wait"
	VerbAbort  Verb = "abort"
	VerbAnswer Verb = "answer"
	VerbGreet  Verb = "greet"  // whether the host is there; about no run
	VerbEvents Verb = "events" // what happens from now on, until the asker is gone; of one run or of all
)

// Request is what one host asks another about a run.
type Request struct {
	Verb    Verb             `json:"verb"`
	Host    string           `json:"host"`            // who is meant
	Epoch   uint64           `json:"epoch,omitempty"` // of the claim that the asker has seen
	Run     string           `json:"run"`
	Session codemode.Session `json:"session"`

	All bool `json:"all,omitempty"` // of events: the events of all sessions

	WaitMillis int64  `json:"waitMs,omitempty"` // of a wait: how long the caller is there
	ToolCallID string `json:"toolCallId,omitempty"`
	Watch      bool   `json:"watch,omitempty"` // of a wait: tell what happens until it ends; of events: also what programs put out
	Asks       bool   `json:"asks,omitempty"`  // of a wait: the caller asks people itself

	Call  string          `json:"call,omitempty"`  // that is answered
	Value json.RawMessage `json:"value,omitempty"` // the answer
	Error string          `json:"error,omitempty"` // or why there is no answer
}

// Frame is one line of what a host answers. One of the fields is set. The last has Reply.
type Frame struct {
	Event    *trajectory.Event         `json:"event,omitempty"`
	Output   *codemode.Output          `json:"output,omitempty"`
	Approval *codemode.PendingApproval `json:"approval,omitempty"`
	Reply    *Reply                    `json:"reply,omitempty"`
	Ready    bool                      `json:"ready,omitempty"` // of events: they are told from now on
}

// Reply is the end of an answer.
type Reply struct {
	// NotHere says that the host does not hold the run, or not any more.
	NotHere bool `json:"notHere,omitempty"`
	// Done says that an answer was taken.
	Done bool `json:"done,omitempty"`
	// Result is the result of a wait or an abort, and the refusal of an answer.
	Result *codemode.Result `json:"result,omitempty"`
	// PendingApprovals are the approvals that Result waits for; its JSON does not have them.
	PendingApprovals []codemode.PendingApproval `json:"pendingApprovals,omitempty"`
	// Stored says that the store keeps the result until it has been delivered.
	Stored bool `json:"stored,omitempty"`
}

// The reasons for which a host has no reply. Match with errors.Is.
var (
	ErrUnreachable = errors.New("the host cannot be reached")
	ErrCredentials = errors.New("the cluster secret or the certificate of one of both hosts is another") // an ErrUnreachable, too
	ErrNotHere     = errors.New("the host does not hold the run")
	ErrBusy        = errors.New("the host answers too many requests of others at once")
)

// Wait is how long the caller is there.
func (q *Request) Wait() time.Duration { return time.Duration(q.WaitMillis) * time.Millisecond }

// parseRequest decodes and checks a request.
func parseRequest(text []byte) (*Request, error) {
	q := &Request{}
	if err := json.Unmarshal(text, q); err != nil {
		return nil, err
	}
	switch {
	case q.Verb != VerbWait && q.Verb != VerbAbort && q.Verb != VerbAnswer && q.Verb != VerbGreet && q.Verb != VerbEvents:
		return nil, fmt.Errorf("unknown verb %.20q", q.Verb)
	case q.Run == "" && q.Verb != VerbGreet && q.Verb != VerbEvents, q.Host == "":
		return nil, errors.New("run or host is missing")
	case q.WaitMillis < 0 || q.WaitMillis > maxWait.Milliseconds():
		return nil, errors.New("waitMs is out of range")
	}
	return q, nil
}

// maxWait bounds the wait of one request. The asker asks again.
const maxWait = 24 * time.Hour

// parseFrame decodes and checks a line of an answer.
func parseFrame(line []byte) (*Frame, error) {
	f := &Frame{}
	if err := json.Unmarshal(line, f); err != nil {
		return nil, err
	}
	set := 0
	for _, is := range []bool{f.Event != nil, f.Output != nil, f.Approval != nil, f.Reply != nil, f.Ready} {
		if is {
			set++
		}
	}
	if set != 1 {
		return nil, fmt.Errorf("a line has %d messages: expected one", set)
	}
	return f, nil
}

// check refuses what is no reply to a request.
func (r *Reply) check(v Verb) error {
	switch {
	case r.NotHere, r.Done && (v == VerbAnswer || v == VerbGreet || v == VerbEvents):
		return nil
	case r.Result == nil:
		return errors.New("a reply has no result")
	case v == VerbAnswer && r.Result.Status != codemode.StatusFailed:
		return errors.New("an answer was neither taken nor refused")
	case len(r.PendingApprovals) > 0 && r.Result.Status != codemode.StatusWaiting:
		return errors.New("people are asked about a run that does not wait")
	}
	return nil
}
