package policy

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/text"
)

// State is how far an approval has come.
type State string

// The states of an approval. All but the first are final.
const (
	StatePending   State = "pending"
	StateAllowed   State = "allowed"
	StateDenied    State = "denied"
	StateExpired   State = "expired"   // no one decided in time: denied
	StateCancelled State = "cancelled" // the run ended first: denied
	StateAnswered  State = "answered"  // the questions have answers
)

// Approval is a tool call that waits, or waited, for a person.
type Approval struct {
	// ID is random, 128 bits, and says nothing about the call.
	ID    string `json:"id"`
	State State  `json:"state"`
	// Title, Description and Severity are what the hooks want a person to read.
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty"`
	Severity    Severity `json:"severity"`
	// Kind, ToolID, ToolName, Owner and Via describe the call.
	Kind     ToolKind `json:"kind"`
	ToolID   string   `json:"toolId"`
	ToolName string   `json:"toolName"`
	Owner    string   `json:"owner,omitempty"`
	Via      string   `json:"via,omitempty"`
	// Input is what the call would be made with. An input of more than 64 KiB is
	// a JSON string that holds its start, and InputCut is set.
	Input      json.RawMessage `json:"input"`
	InputBytes int             `json:"inputBytes"`
	InputCut   bool            `json:"inputCut,omitempty"`
	// InputSHA256 is the digest of the whole input, in hex. A decision is about
	// this input and no other.
	InputSHA256 string `json:"inputSha256"`
	// InputSchema is the schema of the input, by which AllowEdited checks another one.
	// Without it the input cannot be edited.
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// Session is who the run belongs to; RunID and CallID name the call.
	Session codemode.Session `json:"session"`
	RunID   string           `json:"runId"`
	CallID  string           `json:"callId"`
	// Store says which store of runs the run belongs to, if that is known: a host on
	// the same store finds out whether the run can still continue.
	Store string `json:"store,omitempty"`
	// Questions are the tool's questions. It cannot continue without the answers. Such an
	// approval is answered (see Answer) and not decided: Asked and Allowed are empty.
	Questions []codemode.Question `json:"questions,omitempty"`
	// Asked are the hooks that ask, and what an allow-always is remembered for.
	Asked []Asked `json:"asked"`
	// Granted are earlier decisions for always, which answer the other hooks that ask.
	Granted []catalog.Approval `json:"granted,omitempty"`
	// Allowed are the decisions to choose from.
	Allowed []Decision `json:"allowedDecisions"`
	// AlwaysCovers says for people which calls an allow-always would let through,
	// and for how long. It is empty where that is no choice.
	AlwaysCovers string    `json:"alwaysCovers,omitempty"`
	Created      time.Time `json:"created"`
	Expires      time.Time `json:"expires"`
	// Decision, By and Decided are set in the final states: what was decided
	// (empty without a decision), who claims to have decided, and when.
	Decision Decision  `json:"decision,omitempty"`
	By       string    `json:"by,omitempty"`
	Decided  time.Time `json:"decided,omitzero"`
	// Answers are what was answered, by Question.ID. Lists leave their content out.
	Answers map[string]codemode.QuestionAnswer `json:"answers,omitempty"`
	// EditedInput is what the call is made with in place of Input; see AllowEdited.
	EditedInput json.RawMessage `json:"editedInput,omitempty"`
}

// Asked is one hook's part in an approval.
type Asked struct {
	Hook     string   `json:"hook"`
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject,omitempty"`
	// Rewritten reports that the hook asked about another input: a later one has rewritten
	// it since.
	Rewritten bool `json:"rewritten,omitempty"`
	// RememberSeconds is how long an allow-always is remembered for this hook.
	RememberSeconds int64 `json:"rememberSeconds,omitempty"`
}

// maxShownInput bounds what an approval keeps of an input, in bytes.
const maxShownInput = 64 << 10

// idPattern is what ids look like; it keeps them from naming anything else.
var idPattern = regexp.MustCompile(`^apr_[0-9a-f]{32}$`)

// NewApproval makes the pending approval that the asks add up to. It fails if
// the asks leave nothing to decide.
func NewApproval(c Call, asks []Ask, now time.Time) (*Approval, error) {
	req, err := Merge(asks)
	if err != nil {
		return nil, err
	}
	if grantScope(c.Session) == "" {
		req.Allowed = slices.DeleteFunc(req.Allowed, func(d Decision) bool { return d == AllowAlways })
		if len(req.Allowed) == 1 {
			return nil, errNoWayToAllow
		}
	}
	a, err := newApproval(c, now, req.Timeout)
	if err != nil {
		return nil, err
	}
	a.Title, a.Description, a.Severity, a.Allowed = cmp.Or(req.Title, "Allow "+c.ToolName+"?"), req.Description, req.Severity, req.Allowed
	for _, ask := range asks {
		a.Asked = append(a.Asked, Asked{Hook: ask.Hook, Severity: ask.Severity, Subject: ask.Subject, Rewritten: ask.Rewritten,
			RememberSeconds: int64(cmp.Or(ask.Remember, DefaultRemember) / time.Second)})
	}
	a.AlwaysCovers = a.scope()
	return a, nil
}

// newApproval makes a pending approval of a call, without what is asked.
func newApproval(c Call, now time.Time, timeout time.Duration) (a *Approval, err error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("random numbers are not available: %w", err)
	}
	a = &Approval{
		ID: "apr_" + hex.EncodeToString(id[:]), State: StatePending,
		Kind: c.Kind, ToolID: c.ToolID, ToolName: c.ToolName, Owner: c.Owner, Via: c.Via,
		InputBytes: len(c.Params), InputSHA256: digest(c.Params), Input: c.Params,
		Session: c.Session, RunID: c.RunID, CallID: c.CallID,
		Created: now, Expires: now.Add(timeout),
	}
	if len(c.Params) > maxShownInput {
		a.InputCut = true
		if a.Input, err = json.Marshal(text.Cut(string(c.Params), maxShownInput)); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Covers reports whether the approval is about this very call with this input, or with
// the one that a person has put in its place.
func (a *Approval) Covers(runID, callID, toolID string, input json.RawMessage) bool {
	return a.RunID == runID && a.CallID == callID && a.ToolID == toolID &&
		(a.InputSHA256 == digest(input) || len(a.EditedInput) > 0 && digest(a.EditedInput) == digest(input))
}

// MadeBy are the decisions that the call is made by once the approval is allowed, one for
// each hook that asked about the input as it is.
func (a *Approval) MadeBy() []catalog.Approval {
	out := slices.Clone(a.Granted)
	for _, k := range a.Asked {
		if !k.Rewritten {
			out = append(out, catalog.Approval{Hook: k.Hook, Subject: k.Subject, ID: a.ID})
		}
	}
	return out
}

// digest is the SHA-256 of an input in hex, by which a decision is tied to that
// input.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// clone copies what a caller could change.
func (a *Approval) clone() *Approval {
	c := *a
	c.Input = slices.Clone(a.Input)
	c.Asked, c.Allowed = slices.Clone(a.Asked), slices.Clone(a.Allowed)
	c.Granted = slices.Clone(a.Granted)
	c.Questions, c.Answers = slices.Clone(a.Questions), maps.Clone(a.Answers)
	return &c
}

// Resolution is the end of an approval's waiting.
type Resolution struct {
	State    State     `json:"state"`
	Decision Decision  `json:"decision,omitempty"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at"`
	// Answers are those to the questions of the approval, by Question.ID.
	Answers map[string]codemode.QuestionAnswer `json:"answers,omitempty"`
	// Input is what the call is to be made with, if a person has edited it.
	Input json.RawMessage `json:"input,omitempty"`
}

// apply returns the approval as the resolution leaves it.
func (r Resolution) apply(a *Approval) *Approval {
	a.State, a.Decision, a.By, a.Decided = r.State, r.Decision, r.By, r.At
	a.Answers, a.EditedInput = r.Answers, r.Input
	return a
}
