package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/text"
)

// The bounds of what a server may ask a person in the middle of one call.
const (
	maxQuestions     = 16 // at once
	maxQuestionID    = 128
	maxQuestionText  = 8 << 10
	maxQuestionURL   = 2 << 10
	maxFormSchema    = 64 << 10
	maxFormFields    = 100
	maxResumeState   = 64 << 10
	maxEmptyRounds   = 10 // answers that ask nothing, but only to be called again
	methodElicit     = "elicitation/create"
	statelessVersion = "2026-07-28" // from which on servers ask by their answers
)

// elicitation is what a server wants to know from a person, in all eras.
type elicitation struct {
	Mode            string          `json:"mode"`
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema"`
	URL             string          `json:"url"`
	ElicitationID   string          `json:"elicitationId"`
}

// errNotOffered refuses requests for what the host does not do for servers.
var errNotOffered = errors.New("it asks for what is not offered")

// question makes a question of an elicitation.
func (e *elicitation) question(server, id string) (codemode.Question, error) {
	q := codemode.Question{ID: id, From: server, Message: bounded(e.Message, maxQuestionText)}
	if id == "" || len(id) > maxQuestionID || !text.IsPrintable(id) {
		return q, fmt.Errorf("its question has the id %.80q; expected 1 to %d printable bytes", id, maxQuestionID)
	}
	switch e.Mode {
	case "", "form":
		q.Kind = codemode.QuestionForm
		if e.URL != "" {
			return q, fmt.Errorf("its question %.80q is a form with a URL", id)
		}
		schema, err := formSchema(e.RequestedSchema)
		if err != nil {
			return q, fmt.Errorf("the form of its question %.80q %w", id, err)
		}
		q.Schema = schema
	case "url":
		q.Kind, q.URL = codemode.QuestionURL, e.URL
		if !visitable(e.URL) {
			return q, fmt.Errorf("the URL of its question %.80q cannot be shown to a person: expected https://…, without a user name, of at most %d printable bytes", id, maxQuestionURL)
		}
	default:
		return q, fmt.Errorf("its question %.80q has the mode %.80q; expected form or url", id, e.Mode)
	}
	return q, nil
}

// visitable reports whether a person may be sent to an address. One without encryption is
// for servers under development only, on this machine.
func visitable(address string) bool {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxQuestionURL || !text.IsPrintable(address) || u.Host == "" || u.User != nil {
		return false
	}
	local := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"
	return u.Scheme == "https" || u.Scheme == "http" && local
}

// What may stand in the schema of a form, and in the schema of a field: what the protocol
// allows, and what does no harm.
var (
	formKeywords  = []string{"$schema", "type", "title", "description", "properties", "required", "additionalProperties"}
	fieldKeywords = []string{"type", "title", "description", "default", "examples", "minLength", "maxLength", "pattern", "format", "minimum", "maximum",
		"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum", "enumNames", "oneOf", "items", "minItems", "maxItems", "uniqueItems"}
	choiceKeywords = []string{"const", "title", "description"}
)

// formSchema returns the schema of a form, which must be an object of flat fields.
func formSchema(raw json.RawMessage) (json.RawMessage, error) {
	var form map[string]json.RawMessage
	if len(raw) > maxFormSchema {
		return nil, fmt.Errorf("has %d bytes; at most %d are shown", len(raw), maxFormSchema)
	}
	if json.Unmarshal(raw, &form) != nil || string(form["type"]) != `"object"` {
		return nil, errors.New(`has no schema of the type "object"`)
	}
	if err := onlyKeywords(form, formKeywords); err != nil {
		return nil, err
	}
	var fields map[string]map[string]json.RawMessage
	if p := form["properties"]; p != nil && json.Unmarshal(p, &fields) != nil {
		return nil, errors.New("has properties that are not schemas")
	}
	if len(fields) > maxFormFields {
		return nil, fmt.Errorf("has %d fields; at most %d are shown", len(fields), maxFormFields)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := checkField(fields[name]); err != nil {
			return nil, fmt.Errorf("has a field %.80q that %w", name, err)
		}
	}
	return compact(raw), nil
}

// onlyKeywords refuses what a schema has besides some keywords.
func onlyKeywords(schema map[string]json.RawMessage, allowed []string) error {
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("uses %.80q, which forms do not have", name)
		}
	}
	return nil
}

// checkField holds a field of a form to one value, or some of a list.
func checkField(field map[string]json.RawMessage) error {
	if err := onlyKeywords(field, fieldKeywords); err != nil {
		return err
	}
	switch string(field["type"]) {
	case `"string"`, `"number"`, `"integer"`, `"boolean"`:
		return checkChoices(field["oneOf"])
	case `"array"`:
		var items map[string]json.RawMessage
		if json.Unmarshal(field["items"], &items) != nil || items["enum"] == nil && items["anyOf"] == nil {
			return errors.New("is a list of anything; expected choices")
		}
		if err := onlyKeywords(items, []string{"type", "enum", "anyOf"}); err != nil {
			return err
		}
		return checkChoices(items["anyOf"])
	}
	return errors.New("is not flat: expected a string, number, integer, boolean or choices")
}

// checkChoices holds a list of choices to values with titles.
func checkChoices(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var choices []map[string]json.RawMessage
	if json.Unmarshal(raw, &choices) != nil {
		return errors.New("has choices that are not schemas")
	}
	for _, c := range choices {
		if err := onlyKeywords(c, choiceKeywords); err != nil {
			return err
		}
	}
	return nil
}

// questionsOf makes questions of the requests in an answer, in the order of their ids.
func questionsOf(server string, raw json.RawMessage) ([]codemode.Question, error) {
	var requests map[string]struct {
		Method string      `json:"method"`
		Params elicitation `json:"params"`
	}
	if err := json.Unmarshal(raw, &requests); err != nil {
		return nil, errors.New("its questions are not an object of requests")
	}
	if len(requests) > maxQuestions {
		return nil, fmt.Errorf("it asks %d questions; at most %d are put to a person", len(requests), maxQuestions)
	}
	var out []codemode.Question
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		r := requests[id]
		if r.Method != methodElicit {
			return nil, fmt.Errorf("%w: %.80q", errNotOffered, r.Method)
		}
		q, err := r.Params.question(server, id)
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

// resumeKind says what has to be done with the answers of a person.
type resumeKind string

// The kinds of a resumeState.
const (
	resumeCall  resumeKind = "call"  // the call is made again with the answers
	resumeVisit resumeKind = "visit" // the call is made again as it was
	resumeTask  resumeKind = "task"  // the task of the call gets the answers
)

// resumeState is what a call keeps while a person is asked. It goes into the run's record.
type resumeState struct {
	Kind resumeKind `json:"kind"`
	// RequestState is the server's own, given back as it is; nil if it gave none.
	RequestState *string `json:"requestState,omitempty"`
	// Task is the task that asks, and Answered are the questions of it that were answered
	// before.
	Task     *task    `json:"task,omitempty"`
	Answered []string `json:"answered,omitempty"`
}

// inputRequired returns the error of a call that cannot continue before a person has answered.
func inputRequired(questions []codemode.Question, state resumeState) error {
	raw, err := json.Marshal(state)
	if err != nil {
		return err
	}
	if len(raw) > maxResumeState {
		return fmt.Errorf("it asks to keep %d bytes until a person has answered; at most %d are kept", len(raw), maxResumeState)
	}
	return &codemode.InputRequired{Questions: questions, State: raw}
}

// resumption is what a call has when it is made again.
type resumption struct {
	resumeState
	answers sdk.InputResponseMap
	refused bool // a person has not agreed to one of the questions
}

// resumptionOf reads what the engine gives back. It is nil for a call that is made first.
func resumptionOf(r *codemode.Resumption) (*resumption, error) {
	if r == nil {
		return nil, nil
	}
	out := &resumption{answers: sdk.InputResponseMap{}}
	if len(r.State) > 0 {
		if err := json.Unmarshal(r.State, &out.resumeState); err != nil {
			return nil, fmt.Errorf("the state of a call that asked a person: %w", err)
		}
	}
	for id, a := range r.Answers {
		answer, err := elicitResult(a)
		if err != nil {
			return nil, err
		}
		out.answers[id] = answer
		out.refused = out.refused || a.Action != codemode.AnswerAccept
	}
	return out, nil
}

// elicitResult is an answer as servers get it.
func elicitResult(a codemode.QuestionAnswer) (*sdk.ElicitResult, error) {
	out := &sdk.ElicitResult{Action: string(a.Action)}
	if a.Action == codemode.AnswerAccept && len(a.Content) > 0 {
		if err := json.Unmarshal(a.Content, &out.Content); err != nil {
			return nil, fmt.Errorf("the answer of a person is not an object: %w", err)
		}
	}
	return out, nil
}
