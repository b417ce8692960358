package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// DeclarationName is the file in a plugin's folder, or in the folder that its
// author keeps it in, that holds a declaration.
const DeclarationName = "conformance.json"

// Declaration names tools of the plugin, and inputs, by which the suite can see
// what it cannot ask of every plugin. Each field is optional.
type Declaration struct {
	// Config is the configuration to examine the plugin with.
	Config json.RawMessage `json:"config,omitempty"`
	// BadConfig are configurations that the plugin, or its configSchema, refuses.
	BadConfig []json.RawMessage `json:"badConfig,omitempty"`
	// Setup are calls made first wherever declared calls are used.
	Setup []Call `json:"setup,omitempty"`
	// Result is a call that succeeds, as often as it is made.
	Result *Call `json:"result,omitempty"`
	// Failure is a call that the tool answers with an error, of the given code.
	Failure *Failure `json:"failure,omitempty"`
	// Waiting is a call that does not end unless it is cancelled or out of time.
	Waiting *Call `json:"waiting,omitempty"`
	// Progress is a call that reports progress before it succeeds.
	Progress *Call `json:"progress,omitempty"`
	// Large is a call with a large result.
	Large *Large `json:"large,omitempty"`
	// Once is a call that returns something else each time it takes effect, but
	// takes effect once for each idempotency key.
	Once *Call `json:"once,omitempty"`
	// Undo is a call of a revertible tool that its inverse undoes.
	Undo *Undo `json:"undo,omitempty"`
	// Private are calls with an effect that only the session that made them sees.
	Private []Private `json:"private,omitempty"`
	// Storage is a call that succeeds and uses what the host keeps for the plugin.
	Storage *Call `json:"storage,omitempty"`
	// Mappings are arguments that mapping functions turn into inputs.
	Mappings []Mapping `json:"mappings,omitempty"`
}

// Call is one tool call.
type Call struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// Failure is a call that fails.
type Failure struct {
	Call
	// Code is the error's.
	Code string `json:"code"`
}

// Undo is a call that its inverse undoes.
type Undo struct {
	Call
	// Shows is a call of a read-only tool. Its result differs once the call is made, and
	// is what it was once the call is undone.
	Shows Call `json:"shows"`
}

// Private is a call with an effect that no other session sees.
type Private struct {
	Call
	// Shows is a call of a read-only tool. Its result differs for the session of Call, and
	// for no other, also for one that differs from it in a single field.
	Shows Call `json:"shows"`
}

// Large is a call with a large result.
type Large struct {
	Call
	// Bytes is how large the result is at least.
	Bytes int `json:"bytes"`
}

// Mapping is a use of a mapping function.
type Mapping struct {
	Namespace string            `json:"namespace"`
	Mapper    string            `json:"mapper"`
	Args      []json.RawMessage `json:"args"`
	// Input is the input that the arguments are mapped to.
	Input json.RawMessage `json:"input"`
}

// parseDeclaration reads a declaration. A field that is not one is an error.
func parseDeclaration(text []byte) (*Declaration, error) {
	d := &Declaration{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(d); err != nil {
		return nil, fmt.Errorf("%s: %w", DeclarationName, err)
	}
	if dec.More() {
		return nil, fmt.Errorf("%s: there is more than one value", DeclarationName)
	}
	return d, nil
}

// ReadDeclaration reads a declaration from a file.
func ReadDeclaration(name string) (*Declaration, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parseDeclaration(text)
}

// Options tune the suite. A nil *Options means all defaults.
type Options struct {
	// Config is the plugin's configuration. Defaults to the declaration's, else
	// to nil.
	Config json.RawMessage
	// Declaration names what the suite can use of the plugin. Defaults to what
	// the file conformance.json in the plugin's folder says, if there is one.
	Declaration *Declaration
	// SkipExamples keeps the suite from calling read-only tools with their
	// examples, for plugins that need a service which tests do not have.
	SkipExamples bool
	// CallTimeout bounds each call, and how long the plugin may take to end.
	// Defaults to 30 s.
	CallTimeout time.Duration
}

// declaration is the one to use for the plugin in dir.
func (o *Options) declaration(dir string) (*Declaration, error) {
	if o.Declaration != nil {
		return o.Declaration, nil
	}
	d, err := ReadDeclaration(filepath.Join(dir, DeclarationName))
	if errors.Is(err, fs.ErrNotExist) {
		return &Declaration{}, nil
	}
	return d, err
}
