package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/text"
)

// A saved program is started by a call like the call of a tool: rules, hooks and people look
// at it, and it is in the events. What the call answers is which program it is; the guest
// then gets the text and runs it. The calls that the program makes are the run's own.

// Bounds of what one run may start.
const (
	maxProgramDepth = 8   // programs that run each other; the prelude has it too
	maxSavedTexts   = 256 // programs that a run may have the text of
	maxSavedByModel = 64  // programs that programs of one session may save
)

// Codes of rejections about saved programs.
const (
	codeProgramDepth   = "program_too_deep" // saved programs run each other too deeply
	codeProgramChanged = string(programs.Changed)
	codeNotAllowed     = "not_allowed" // the configuration does not allow that programs save programs
)

// resolveSavedProgram finds the program that a call starts.
func (c *call) resolveSavedProgram(ctx context.Context) *fault.Rejection {
	r := c.run
	var depth int
	var args []json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil || len(args) != 2 || json.Unmarshal(args[0], &depth) != nil {
		return fault.Reject(fault.CodeNestedTool, "programs.run: arguments are not a depth and an input.")
	}
	if depth < 0 || depth >= maxProgramDepth {
		return fault.Reject(codeProgramDepth, "programs.run: programs may run each other %d deep.", maxProgramDepth)
	}
	p, rejection := r.findProgram(ctx, c.Target)
	if rejection != nil {
		return rejection
	}
	c.via = fmt.Sprintf("programs.run(%q)", p.Name)
	if changes := ProgramChanges(p, r.View().Catalog); len(changes) > 0 {
		return programChanged(p, changes)
	}
	c.saved, c.tool, c.input = p, programTool(p), catalog.NormalInput(args[1])
	c.tool.Invoke = c.startSaved
	return nil
}

// findProgram returns a program that the run may start.
func (r *Run) findProgram(ctx context.Context, name string) (*programs.Program, *fault.Rejection) {
	st := r.Env.Programs.Store
	if st == nil {
		return nil, fault.Reject(string(programs.NotFound), "No programs are saved here.")
	}
	p, err := programs.Find(ctx, st, r.Session, name)
	if err != nil {
		return nil, failureFromPrograms(err)
	}
	if tool := programTool(p); !r.Access.Layers.Allows(view.Subject(tool)) {
		return nil, fault.Reject(string(programs.NotFound), "There is no saved program %q.", name)
	}
	return p, nil
}

func failureFromPrograms(err error) *fault.Rejection {
	var e *programs.Error
	if errors.As(err, &e) {
		return fault.Reject(string(e.Code), "%s", e.Message)
	}
	return fault.Reject(fault.CodeNestedTool, "saved programs: %s", fault.WithoutPaths(err))
}

// checkProgramInput checks an input of a saved program, or of saving one.
func checkProgramInput(tool *catalog.Tool, input []byte) *fault.Rejection {
	err := catalog.CheckInput(tool.Parameters, input)
	if err == nil {
		return nil
	}
	e := fault.RejectionFromCatalog(err)
	e.ToolID = tool.ID()
	e.Message = "Invalid input of " + tool.Name + ": " + e.Message
	return e
}

// judgeSaved shows the program that a call starts to the hooks that look at programs, and
// returns what they ask.
func (c *call) judgeSaved(ctx context.Context, chain *policy.Chain) ([]policy.Ask, *fault.Rejection) {
	if c.saved == nil {
		return nil, nil
	}
	r, p := c.run, Program{Code: c.saved.Code, Command: c.saved.Code, Language: c.saved.Language, Title: c.saved.Name}
	params, err := jsontext.Marshal(p)
	if err != nil {
		return nil, fault.Reject(fault.CodeNestedTool, "the saved program cannot be shown to hooks: %v", err)
	}
	pc := r.programCall(params, policy.InputKind(p.Language))
	pc.CallID = c.PublicID()
	ruling := chain.Before(ctx, pc, func(before, after json.RawMessage) (json.RawMessage, error) {
		return rewrittenProgram(r.Settings, before, after)
	})
	if ruling.Block != nil {
		return nil, c.blocked(ctx, ruling.Block)
	}
	if err := json.Unmarshal(ruling.Params, &p); err != nil {
		return nil, fault.Reject(fault.CodeHookFailed, "the saved program that hooks have rewritten cannot be read: %v", err)
	}
	if p.Code != c.saved.Code || p.Language != c.saved.Language {
		rewritten := *c.saved
		rewritten.Code, rewritten.Language = p.Code, p.Language
		c.saved = &rewritten
	}
	return ruling.Asks, nil
}

// aboutSaved has people asked about the program as it is: what they allow for always is
// not another one of its name.
func (c *call) aboutSaved(asks []policy.Ask) []policy.Ask {
	key := c.saved.Key()
	c.run.Calls.Questions.Judged(c.Entry, key)
	out := slices.Clone(asks)
	for i, a := range out {
		out[i].Subject = strings.TrimSpace(text.Cut(a.Subject, maxAskedSubject) + " program " + key)
	}
	return out
}

// maxAskedSubject bounds what a hook says of a subject next to a program, in bytes.
const maxAskedSubject = 512

// findJudged has a call start the program that hooks and a person have seen, when its run
// resumes in another process: by its name it may be another one by now. Hooks that have
// rewritten it do so again.
func (c *call) findJudged(ctx context.Context) *fault.Rejection {
	if c.saved == nil || c.saved.Key() == c.Program {
		return nil
	}
	if _, rejection := c.judgeSaved(ctx, c.run.Env.Hooks()); rejection != nil {
		return rejection
	}
	if c.saved.Key() == c.Program {
		return nil
	}
	c.run.Env.CancelApproval(c.run.Background(), c.Approval)
	return c.notMade(fault.Reject(codeProgramChanged, "The saved program %s was not run: it is another one than the one that a person was asked about. Run it again.", c.saved.Name))
}

// startSaved lets the guest have the program: the answer is its key.
func (c *call) startSaved(context.Context, catalog.Invocation) (json.RawMessage, error) {
	s, key := &c.run.saved, c.saved.Key()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.byKey[key]; !known && len(s.byKey) >= maxSavedTexts {
		return nil, fault.Reject(codeNotAllowed, "One run may start %d different programs.", maxSavedTexts)
	}
	if s.byKey == nil {
		s.byKey = map[string]*programs.Program{}
	}
	s.byKey[key] = c.saved
	return json.Marshal(map[string]string{"program": key})
}

// ProgramChange is a tool that is not as it was when a program ran with it.
type ProgramChange struct {
	Tool string `json:"tool"`
	// Was and Is are its input and output then and now. Is is empty if it is gone.
	Was string `json:"was"`
	Is  string `json:"is,omitempty"`
}

// ProgramChanges compares the tools that a program ran with to the tools of a catalog.
func ProgramChanges(p *programs.Program, c *catalog.Catalog) (out []ProgramChange) {
	for _, was := range p.Tools {
		tool, ok := c.ByID(was.ID)
		switch {
		case !ok:
			out = append(out, ProgramChange{Tool: was.ID, Was: signature(was)})
		case run.SchemaDigest(tool) != was.Digest:
			out = append(out, ProgramChange{was.ID, signature(was), signature(programs.ToolOf(was.ID, "", tool))})
		}
	}
	return out
}

// signature writes the shapes of a tool.
func signature(t programs.Tool) string {
	switch {
	case t.Input == "":
		return "(unknown)"
	case t.Output == "":
		return "(" + t.Input + ")"
	}
	return "(" + t.Input + ") => " + t.Output
}

// TakeTools gives a program the tools of a catalog in place of those that it ran with.
// Tools that are gone stay as they were.
func TakeTools(p *programs.Program, c *catalog.Catalog) {
	tools := make([]programs.Tool, len(p.Tools))
	for i, was := range p.Tools {
		tools[i] = was
		if tool, ok := c.ByID(was.ID); ok {
			tools[i] = programs.ToolOf(was.ID, run.SchemaDigest(tool), tool)
		}
	}
	p.Tools = tools
}

// ReviewDigest identifies what a person sees who reviews a program: the program, whom it
// is for, its tools as it ran with them, and as they are in a catalog.
func ReviewDigest(p *programs.Program, c *catalog.Catalog) (string, error) {
	now := make([]string, len(p.Tools))
	for i, was := range p.Tools {
		if tool, ok := c.ByID(was.ID); ok {
			now[i] = run.SchemaDigest(tool)
		}
	}
	seen, err := jsontext.Marshal(struct {
		Program *programs.Program
		Now     []string
	}{p, now})
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(seen)
	return hex.EncodeToString(h[:16]), nil
}

// programChanged says that a program has to be reviewed.
func programChanged(p *programs.Program, changes []ProgramChange) *fault.Rejection {
	ids := make([]string, len(changes))
	for i, ch := range changes {
		ids[i] = ch.Tool
		if ch.Is == "" {
			ids[i] += " (gone)"
		}
	}
	e := fault.Reject(codeProgramChanged, "The saved program %s was not run: its tools have changed since it was saved: %s. A person reviews it with: quoin programs review %s. Until then, write the program again.",
		p.Name, strings.Join(ids, ", "), p.Name)
	e.ToolID, e.EffectStatus = p.ToolID(), fault.EffectNone
	return e
}

// resolveSave makes the input of programs.save of its arguments.
func (c *call) resolveSave() *fault.Rejection {
	r := c.run
	tool := SaveTool
	if r.Env.Programs.Store == nil || !r.Access.Layers.Allows(view.Subject(&tool)) {
		return fault.Reject(codeNotAllowed, "programs.save: no programs are saved here.")
	}
	var in map[string]json.RawMessage
	if json.Unmarshal(c.Args, &in) != nil || in == nil {
		return fault.Reject(fault.CodeNestedTool, "programs.save: its options are no object.")
	}
	in["name"], _ = json.Marshal(c.Target)
	input, err := json.Marshal(in)
	if err != nil {
		return fault.Reject(fault.CodeNestedTool, "programs.save: %v", err)
	}
	tool.Invoke = r.saveProgram
	c.tool, c.input, c.via = &tool, input, "programs.save"
	return nil
}

// saveProgram saves what a program asks for.
func (r *Run) saveProgram(ctx context.Context, inv catalog.Invocation) (json.RawMessage, error) {
	e := r.Env
	var rq programs.Request
	if err := json.Unmarshal(inv.Input, &rq); err != nil {
		return nil, fault.Reject(fault.CodeNestedTool, "programs.save: %v", err)
	}
	if !e.Programs.ModelsSave {
		return nil, fault.Reject(codeNotAllowed, "programs.save: programs of models are not saved here (programs.saveByModels). A person saves it with: quoin programs save last --name %s", rq.Name)
	}
	if rejection := r.mayModelSave(ctx, rq.Name); rejection != nil {
		return nil, rejection
	}
	p, err := e.SaveProgram(ctx, &r.Session, rq, programs.ByModel)
	if err != nil {
		return nil, failureFromPrograms(err)
	}
	return jsontext.Marshal(entryOf(p))
}

// mayModelSave keeps a model from putting its program in the place of a person's, from
// giving it to callers that it does not know, and from filling the store, which all
// sessions share.
func (r *Run) mayModelSave(ctx context.Context, name string) *fault.Rejection {
	if r.Session.Identity() == "" {
		return fault.Reject(codeNotAllowed, "programs.save: this run names neither an agent nor a session, so that all other callers without a name would run the program. Run it again in a session that has a name, and save it there.")
	}
	list, err := programs.Visible(ctx, r.Env.Programs.Store, r.Session)
	if err != nil {
		return failureFromPrograms(err)
	}
	own, isNew := 0, true
	for _, p := range list {
		byItself := p.For == programs.ForSession && p.By == programs.ByModel
		if byItself {
			own++
		}
		if p.Name == name && !byItself {
			return fault.Reject(string(programs.Exists), "programs.save: the program %s is one that a person has saved: choose another name.", name)
		}
		isNew = isNew && p.Name != name
	}
	if isNew && own >= maxSavedByModel {
		return fault.Reject(string(programs.Full), "programs.save: programs of this session have saved %d programs, which is all they may: replace one of them.", maxSavedByModel)
	}
	return nil
}

// SaveProgram is programs.Save of a run of this engine's store.
func (e *Env) SaveProgram(ctx context.Context, s *codemode.Session, rq programs.Request, by string) (*programs.Program, error) {
	e.KeptPrograms.Flush()
	return programs.Save(ctx, e.Programs.Store, s, rq, by, time.Now())
}

// visiblePrograms are the saved programs that the run may start.
func (r *Run) visiblePrograms() []*programs.Program {
	st := r.Env.Programs.Store
	if st == nil {
		return nil
	}
	all, err := programs.Visible(r.Context, st, r.Session)
	if err != nil {
		r.Env.Logger.Error("saved programs cannot be read", "run", r.ID, "error", err)
		return nil
	}
	out := all[:0]
	for _, p := range all {
		if r.Access.Layers.Allows(view.Subject(programTool(p))) {
			out = append(out, p)
		}
	}
	return out
}
