package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/text"
)

// What to send, for the errors of ParseExec and ParseWait.
const (
	waitUsage = `Send {"runId": "run_…"} with the runId of a result whose status is "waiting".`
)

// ParseExec reads the arguments that a model gave to exec. It takes the fields of
// the tool's schema and the undocumented alias command, null for an optional
// field that is left out, and nothing else. Whether the language is enabled is
// decided by Exec.
//
// The error is an *Error with CodeInvalidInput that says what to send; make a
// Result of it with codemode.Failed.
func ParseExec(arguments []byte) (ExecInput, error) {
	a, err := readArguments("exec", arguments, codemode.ExecUsage)
	if err != nil {
		return ExecInput{}, err
	}
	var in ExecInput
	for _, f := range []struct {
		name string
		dst  *string
	}{{"code", &in.Code}, {"command", &in.Command}, {"language", &in.Language}, {"title", &in.Title}} {
		if err := a.text(f.name, f.dst); err != nil {
			return ExecInput{}, err
		}
	}
	if err := a.nothingElse(); err != nil {
		return ExecInput{}, err
	}
	if _, f := in.forEngine().Program(); f != nil {
		return ExecInput{}, f
	}
	return in, nil
}

// ParseWait reads the arguments that a model gave to wait and returns the run id.
// It fails like ParseExec.
func ParseWait(arguments []byte) (runID string, _ error) {
	a, err := readArguments("wait", arguments, waitUsage)
	if err != nil {
		return "", err
	}
	if err := a.text("runId", &runID); err != nil {
		return "", err
	}
	if err := a.nothingElse(); err != nil {
		return "", err
	}
	if runID = strings.TrimSpace(runID); runID == "" {
		return "", a.wrong("runId is missing")
	}
	return runID, nil
}

// arguments are the fields of one call that have not been read yet.
type arguments struct {
	tool, usage string
	fields      map[string]json.RawMessage
}

func readArguments(tool string, text []byte, usage string) (*arguments, error) {
	a := &arguments{tool: tool, usage: usage, fields: map[string]json.RawMessage{}}
	if len(bytes.TrimSpace(text)) == 0 {
		return a, nil
	}
	if !utf8.Valid(text) {
		return nil, a.wrong("the arguments are not UTF-8 text")
	}
	if !json.Valid(text) {
		return nil, a.wrong("the arguments are not JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, a.wrong("the arguments are " + jsonKind(text) + ", not an object")
	}
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return nil, a.wrong("the arguments are not JSON")
		}
		if _, twice := a.fields[name]; twice {
			return nil, a.wrong(fmt.Sprintf("%s is given twice", quoted(name)))
		}
		a.fields[name] = value
	}
	return a, nil
}

// text takes a string; absent and null leave dst as it is.
func (a *arguments) text(name string, dst *string) error {
	raw, given := a.fields[name]
	delete(a.fields, name)
	if !given || string(raw) == "null" {
		return nil
	}
	if raw[0] != '"' || json.Unmarshal(raw, dst) != nil {
		return a.wrong(fmt.Sprintf("%s is %s, not a string", name, jsonKind(raw)))
	}
	if jsontext.HasLoneSurrogate(raw) {
		return a.wrong(name + " holds half of a surrogate pair, such as \\ud83d alone, which is no character; send the whole pair or leave it out")
	}
	return nil
}

func (a *arguments) nothingElse() error {
	if len(a.fields) == 0 {
		return nil
	}
	return a.wrong(fmt.Sprintf("%s takes no field %s", a.tool, quoted(slices.Min(slices.Collect(maps.Keys(a.fields))))))
}

func (a *arguments) wrong(what string) *Error {
	return &Error{Code: codemode.CodeInvalidInput, Phase: codemode.PhaseInput, Message: "Invalid arguments for " + a.tool + ": " + what + ". " + a.usage}
}

// quoted is a name of someone else's, bounded, for an error message.
func quoted(name string) string { return fmt.Sprintf("%q", text.Cut(name, 64)) }

// jsonKind names the kind of a JSON value.
func jsonKind(raw []byte) string {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}
