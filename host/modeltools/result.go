package modeltools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// shownResult is a Result as a model reads it. What a model cannot use is not in it:
// telemetry, who is at fault, the ids of calls.
type shownResult struct {
	Status codemode.Status `json:"status"`

	Value json.RawMessage `json:"value,omitempty"`

	RunID  string          `json:"runId,omitempty"`
	Reason codemode.Reason `json:"reason,omitempty"`
	// Pending names the tools that the program waits for.
	Pending []string `json:"pending,omitempty"`
	// WaitingFor says what people are asked, and where they answer.
	WaitingFor []string `json:"waitingFor,omitempty"`

	Error string `json:"error,omitempty"`
	Code  string `json:"code,omitempty"`
	// Next is the one thing to do now, where the error does not say it.
	Next string `json:"next,omitempty"`

	// Output has texts as strings, and other values as they are.
	Output []json.RawMessage `json:"output,omitempty"`
}

// resultSchema describes what RenderResult writes. It has no unions: clients and
// providers differ in which of them they take.
const resultSchema = `{"type":"object","properties":{` +
	`"status":{"type":"string","enum":["completed","waiting","failed"]},` +
	`"value":{"description":"completed: what the program returned"},` +
	`"output":{"type":"array","items":{},"description":"what the program emitted since the last result"},` +
	`"runId":{"type":"string","description":"waiting: give it to wait"},` +
	`"reason":{"type":"string","description":"waiting: what for"},` +
	`"pending":{"type":"array","items":{"type":"string"},"description":"waiting: tools that have not answered"},` +
	`"waitingFor":{"type":"array","items":{"type":"string"},"description":"waiting: what a person has to do before wait gets further; tell the user"},` +
	`"error":{"type":"string","description":"failed: what went wrong"},` +
	`"code":{"type":"string"},` +
	`"next":{"type":"string","description":"what to do now"}` +
	`},"required":["status"]}`

// ResultSchema returns the JSON Schema of what RenderResult writes.
func ResultSchema() json.RawMessage { return json.RawMessage(resultSchema) }

// RenderResult writes the result of an exec or wait as a model is to be shown it: compact
// JSON without telemetry, and with at most one next step. WaitingFor says, in a sentence
// each, what people have to do before the run gets further; it may be nil. The full
// Result, as MarshalJSON writes it, is for people and programs.
func RenderResult(r *codemode.Result, waitingFor []string) (json.RawMessage, error) {
	shown := shownResult{Status: r.Status, Output: shownOutput(r)}
	switch r.Status {
	case codemode.StatusCompleted:
		shown.Value = r.Value
		if len(shown.Value) == 0 {
			shown.Value = json.RawMessage("null")
		}
	case codemode.StatusWaiting:
		shown.RunID, shown.Reason = r.RunID, r.Reason
		shown.Pending, shown.WaitingFor = pendingTools(r.PendingToolCalls), waitingFor
		if r.Reason == codemode.ReasonApproval {
			shown.Next = "Tell the user what a person has to do. Call wait with this runId when it is done."
		} else if r.RetryAfter > 0 {
			shown.Next = fmt.Sprintf("Call wait with this runId: it returns as soon as there is news, which may take another %s.", r.RetryAfter.Round(time.Second))
		}
	default:
		shown.Error, shown.Code, shown.Next = firstFrames(r.Error), failureWord(r), nextStep(r)
	}
	return jsontext.Marshal(shown)
}

// maxOverflow bounds what is shown of output that was too large, in bytes: its start is
// enough to see what it is, and all of it would cost what the limit is there to save.
const maxOverflow = 2 << 10

// shownOutput are the items of a result.
func shownOutput(r *codemode.Result) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(r.Output))
	for _, o := range r.Output {
		out = append(out, o.Value)
	}
	if r.Code != codemode.CodeOutputLimit {
		return out
	}
	room := maxOverflow
	for i, item := range out {
		const least = 64
		if room < least {
			return out[:i]
		}
		short, _ := jsontext.Shorten(item, room)
		out[i] = short
		room -= len(short)
	}
	return out
}

// maxPendingNames bounds the tools that a waiting result names.
const maxPendingNames = 8

// pendingTools names the tools of calls, each once, with how many calls it has.
func pendingTools(calls []codemode.PendingCall) (names []string) {
	count := map[string]int{}
	for _, c := range calls {
		if count[c.Tool]++; count[c.Tool] == 1 && c.Tool != "" {
			names = append(names, c.Tool)
		}
	}
	more := len(names) - maxPendingNames
	if more > 0 {
		names = names[:maxPendingNames]
	}
	for i, name := range names {
		if n := count[name]; n > 1 {
			names[i] = fmt.Sprintf("%s x %d", name, n)
		}
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return names
}

// wordOfException is what a model is told of a program that threw: internal_error, which
// programs of the host know, would send it looking for a fault of the host.
const wordOfException = "program_error"

// failureWord is the one word that tells a failure from others.
func failureWord(r *codemode.Result) string {
	if r.Reason == codemode.ReasonGuestException {
		return wordOfException
	}
	return cmp.Or(string(r.Reason), string(r.Code))
}

// maxFrames is how many lines of a stack a model is shown. The first says where the
// program has to change.
const maxFrames = 2

// firstFrames drops all but the first lines of a stack.
func firstFrames(message string) string {
	lines := strings.Split(message, "\n")
	frames := 0
	lines = slices.DeleteFunc(lines, func(line string) bool {
		if !strings.HasPrefix(line, "    at ") {
			return false
		}
		frames++
		return frames > maxFrames
	})
	return strings.Join(lines, "\n")
}

// What a model does next.
const (
	stepLook    = "Tools were called before this failed. Find out what they have changed, then send a program for the rest only."
	stepCorrect = "Nothing was changed: correct the program and send it again."
	stepAgain   = "Send the program again with exec."
	stepSmaller = "Split the work: send a program that does part of it, or less at once."
	stepOwn     = "Give the runId of a waiting result of your own."
	stepBusy    = "Call wait again with the same runId, when any other wait of this run has returned."
	stepLater   = "Try again in a minute; if it fails again, tell the user."
	stepUser    = "Tell the user: you cannot change this from here."
	stepWait    = "Call wait for the programs that are waiting, then try again."
)

// stepsOf are the next steps by reason, and by code for failures without one. A failure
// that has called tools always leads to looking at what they did, unless it says so
// itself or is not the end of its run.
var (
	stepsOfReason = map[codemode.Reason]string{
		codemode.ReasonInvalidConfig:       stepUser,
		codemode.ReasonUnsupportedLanguage: "", // the message names the languages
		codemode.ReasonTypeScript:          stepCorrect,
		codemode.ReasonModuleAccess:        stepCorrect,
		codemode.ReasonSyntax:              stepCorrect,
		codemode.ReasonShell:               "", // the message says how a command is run
		codemode.ReasonRunUnavailable:      "", // the message says what is known of the run
		codemode.ReasonRunExpired:          "",
		codemode.ReasonRunBusy:             stepBusy,
		codemode.ReasonWrongSession:        stepOwn,
		codemode.ReasonWrongRun:            stepOwn,
		codemode.ReasonTooManySuspended:    stepWait,
		codemode.ReasonTooManyPending:      "", // the message says how to batch
		codemode.ReasonRestoreFailed:       stepAgain,
		codemode.ReasonReplayDiverged:      stepAgain,
		codemode.ReasonStoreFailed:         stepLater,
		codemode.ReasonToolsMissing:        stepLater,
		codemode.ReasonNestedTool:          stepCorrect,
		codemode.ReasonGuestException:      stepCorrect,
		codemode.ReasonSandboxViolation:    stepCorrect,
		codemode.ReasonWorkerCrashed:       stepSmaller,
		codemode.ReasonEngineUnavailable:   stepUser,
		codemode.ReasonQuota:               stepWait,
	}
	stepsOfCode = map[codemode.Code]string{
		codemode.CodeInvalidInput:  "", // the message says what to send
		codemode.CodeUnavailable:   stepLater,
		codemode.CodeTimeout:       stepSmaller,
		codemode.CodeOutputLimit:   "", // the message says how to get the rest
		codemode.CodeSnapshotLimit: stepSmaller,
		codemode.CodeMemoryLimit:   stepSmaller,
		codemode.CodeAborted:       "Ask the user before you start it again.",
		codemode.CodeInternal:      stepCorrect,
	}
)

// keepsItsRun reports whether a run stays although an exec or wait of it has failed.
func keepsItsRun(r codemode.Reason) bool {
	switch r {
	case codemode.ReasonRunBusy, codemode.ReasonToolsMissing, codemode.ReasonEngineUnavailable, codemode.ReasonStoreFailed:
		return true
	}
	return false
}

// nextStep is what a model does after a failure; empty if the message says it.
func nextStep(r *codemode.Result) string {
	step, known := stepsOfReason[r.Reason]
	if !known {
		step = stepsOfCode[r.Code]
	}
	if r.Dispatched && !r.Unchanged && step != "" && !keepsItsRun(r.Reason) {
		return stepLook
	}
	return step
}
