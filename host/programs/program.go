package programs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

// Bounds of what is kept.
const (
	MaxCode        = 256 << 10 // bytes of one program
	MaxPrograms    = 1000      // saved programs of a store
	MaxKept        = 256       // programs of runs; the oldest make room
	maxDescription = 400       // bytes
	maxSchema      = 64 << 10  // bytes of the schema of an input
	maxTools       = 256       // tools that a program names
	maxSignature   = 2 << 10   // bytes of what is kept of one tool's input, and of its output
)

// Owner is the owner of saved programs as tools, in rules, hooks and events: the program
// weekly-report is quoin:programs:weekly-report. No plugin may have this id.
const Owner = "programs"

// Prefix starts the ids of saved programs as tools.
const Prefix = "quoin:" + Owner + ":"

// Audience says which sessions a program is there for.
type Audience string

// ByModel is who has saved a program that a model has saved.
const ByModel = "model"

// The audiences, narrowest first. A session finds the program of the narrowest one, and
// one that a person has saved before one of a model.
const (
	ForSession  Audience = "session"  // the session that ran it; all callers without a name are one
	ForAgent    Audience = "agent"    // all sessions of its agent
	ForEveryone Audience = "everyone" // every session of the host
)

// Program is a program that was saved under a name.
type Program struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Language    string `json:"language"`
	Code        string `json:"code,omitempty"` // left out of lists
	// Input is the JSON Schema of the input, an object.
	Input json.RawMessage `json:"input"`
	// Tools are what the program ran with.
	Tools []Tool           `json:"tools,omitempty"`
	For   Audience         `json:"for"`
	Owner codemode.Session `json:"owner,omitzero"`
	RunID string           `json:"runId"`
	Saved time.Time        `json:"saved"`
	// By says who has saved the program, or has reviewed it last: ByModel, or a person.
	By string `json:"by,omitempty"`
}

// Tool is a tool as it was when a program ran with it.
type Tool struct {
	ID     string `json:"id"`
	Digest string `json:"digest"` // of its schemas
	// Input and Output are the shapes of both, in TypeScript, cut to 2 KiB. They are empty
	// where they were not known.
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
}

// Kept is the program of a run.
type Kept struct {
	RunID     string           `json:"runId"`
	Session   codemode.Session `json:"session,omitzero"`
	Language  string           `json:"language"`
	Code      string           `json:"code"`
	Title     string           `json:"title,omitempty"`
	Completed bool             `json:"completed,omitempty"` // the run has returned
	Tools     []Tool           `json:"tools,omitempty"`
	At        time.Time        `json:"at"`
	Expires   time.Time        `json:"expires"`
}

// namePattern is what the name of a program looks like.
var namePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// CheckName says what is wrong with the name of a program.
func CheckName(name string) error {
	if namePattern.MatchString(name) {
		return nil
	}
	return errorf(Invalid, "the name of a program is %.80q, expected a letter and at most 63 letters, digits, - or _, such as weekly-report.", name)
}

// VisibleTo reports whether a session may run the program.
func (p *Program) VisibleTo(s codemode.Session) bool {
	switch p.For {
	case ForEveryone:
		return true
	case ForAgent:
		return s.AgentID != "" && s.AgentID == p.Owner.AgentID
	case ForSession:
		return s.Owns(p.Owner)
	}
	return false
}

// is returns nil if p is what old was when it was read; a nil p is not there any more.
func (p *Program) is(old *Program) error {
	if p == nil {
		return unknown(old.Name, nil)
	}
	now, err := json.Marshal(p)
	if err != nil {
		return err
	}
	before, err := json.Marshal(old)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return errorf(Changed, "Nothing was changed: there is another program %[1]s by now. Look at it again: quoin programs review %[1]s", old.Name)
	}
	return nil
}

// ToolID is the id that rules, hooks and events know the program by.
func (p *Program) ToolID() string { return Prefix + p.Name }

// Call is how a cell runs the program, in a line.
func (p *Program) Call() string {
	input := strings.Join(strings.Fields(catalog.Shape(p.Input)), " ")
	switch {
	case input == "{}":
		return fmt.Sprintf("programs.run(%q)", p.Name)
	case len(input) > maxCall || input == "unknown":
		input = "{…}"
	}
	return fmt.Sprintf("programs.run(%q, %s)", p.Name, input)
}

// maxCall bounds the shape of an input in Call, in bytes.
const maxCall = 400

// Key identifies what the program does: its language and its code.
func (p *Program) Key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s", p.Language, p.Code)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// place identifies the program in a store: by its name and the owner of the name.
func (p *Program) place() string {
	var whose string
	switch p.For {
	case ForAgent:
		whose = p.Owner.AgentID
	case ForSession:
		whose = p.Owner.Identity()
	}
	h := sha256.Sum256(fmt.Appendf(nil, "%s %q %q", p.For, whose, p.Name))
	return strings.ToLower(p.Name) + "-" + hex.EncodeToString(h[:8])
}

// check refuses a program that a store must not have, or that it should not have read.
func (p *Program) check() error {
	if err := CheckName(p.Name); err != nil {
		return err
	}
	switch {
	case p.Code == "":
		return errorf(Invalid, "the program %s has no code.", p.Name)
	case len(p.Code) > MaxCode:
		return errorf(Invalid, "the program %s has %d bytes, at most %d can be saved.", p.Name, len(p.Code), MaxCode)
	case len(p.Input) > maxSchema:
		return errorf(Invalid, "the input schema of %s has %d bytes, expected at most %d.", p.Name, len(p.Input), maxSchema)
	case len(p.Tools) > maxTools:
		return errorf(Invalid, "the program %s ran with %d tools, at most %d can be kept.", p.Name, len(p.Tools), maxTools)
	case p.For != ForSession && p.For != ForAgent && p.For != ForEveryone:
		return errorf(Invalid, "for is %.40q, expected session, agent or everyone.", string(p.For))
	case p.For == ForAgent && p.Owner.AgentID == "":
		return errorf(Invalid, "the run of %s has no agent: save it for its session or for everyone.", p.Name)
	}
	return nil
}

// summary is the program without what a list leaves out.
func (p *Program) summary() *Program {
	out := *p
	out.Code = ""
	return &out
}
