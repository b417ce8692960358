package host

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/programs"
)

// ProgramChange is a tool that is not as it was when a saved program ran with it.
type ProgramChange = pipeline.ProgramChange

// ProgramReview is a saved program, and which of its tools have changed. A program with
// changes is not run before Programs.Accept.
type ProgramReview struct {
	*programs.Program
	Changes []ProgramChange `json:"changes,omitempty"`
	// Digest identifies the program and its tools as they are shown here, for
	// Programs.Accept. It is empty in a list, which does not show the code.
	Digest string `json:"digest,omitempty"`
}

// errNoPrograms is what hosts without a store of programs say.
var errNoPrograms = &programs.Error{Code: programs.NotFound, Message: "this host saves no programs: give it a store of programs."}

// Programs are the saved programs of a host. Save, Accept and Remove act for a person who may do so:
// for a session they save, replace, accept and remove also what is there for its agent and for
// everyone. Ask your own rules before you let a user call them.
type Programs struct{ host *Host }

// Programs returns the saved programs.
func (h *Host) Programs() Programs { return Programs{h} }

func (p Programs) store() programs.Store { return p.host.cfg.Programs.Store }

// Save saves the program of a completed run of the session under a name. By says
// who saves it, for the record; it is programs.ByModel where a model asks for it. The
// error is a *programs.Error, or the store's.
func (p Programs) Save(ctx context.Context, s Session, rq programs.Request, by string) (*programs.Program, error) {
	if p.store() == nil {
		return nil, errNoPrograms
	}
	return p.host.engine.SaveProgram(ctx, &s, rq, by)
}

// List returns the saved programs of a session by name, without their code, and which
// of their tools have changed.
func (p Programs) List(ctx context.Context, s Session) ([]ProgramReview, error) {
	if p.store() == nil {
		return nil, nil
	}
	list, err := programs.Visible(ctx, p.store(), s)
	if err != nil {
		return nil, err
	}
	c := p.host.views.SessionView(s).Catalog
	out := make([]ProgramReview, len(list))
	for i, saved := range programs.Summaries(list) {
		out[i] = ProgramReview{Program: saved, Changes: pipeline.ProgramChanges(saved, c)}
	}
	return out, nil
}

// Get returns a saved program of a session, and which of its tools have changed. The
// error is a *programs.Error, or the store's.
func (p Programs) Get(ctx context.Context, s Session, name string) (*ProgramReview, error) {
	if p.store() == nil {
		return nil, errNoPrograms
	}
	saved, err := programs.Find(ctx, p.store(), s, name)
	if err != nil {
		return nil, err
	}
	return reviewOf(saved, p.host.views.SessionView(s).Catalog)
}

// reviewOf compares a program with the tools of a catalog.
func reviewOf(p *programs.Program, c *catalog.Catalog) (*ProgramReview, error) {
	digest, err := pipeline.ReviewDigest(p, c)
	if err != nil {
		return nil, err
	}
	return &ProgramReview{p, pipeline.ProgramChanges(p, c), digest}, nil
}

// Accept takes the tools of this moment as the tools that a saved program ran with.
// Digest is the digest of the ProgramReview that a person has looked at, and by says who that
// is. If the program or one of its tools has changed since, nothing is accepted, and the error
// is programs.Changed. Tools that are gone stay changes.
func (p Programs) Accept(ctx context.Context, s Session, name, digest, by string) (*ProgramReview, error) {
	if p.store() == nil {
		return nil, errNoPrograms
	}
	saved, err := programs.Find(ctx, p.store(), s, name)
	if err != nil {
		return nil, err
	}
	c := p.host.views.SessionView(s).Catalog
	seen, err := reviewOf(saved, c)
	if err != nil {
		return nil, err
	}
	if digest != seen.Digest {
		return nil, &programs.Error{Code: programs.Changed, Message: fmt.Sprintf("Nothing was accepted: the program %[1]s with its tools has the digest %[2]s, and %.64[3]q was reviewed. Look at it again: quoin programs review %[1]s", saved.Name, seen.Digest, digest)}
	}
	accepted := *saved
	pipeline.TakeTools(&accepted, c)
	accepted.By, accepted.Saved = by, time.Now().UTC()
	if err := p.store().Update(ctx, saved, &accepted); err != nil {
		return nil, err
	}
	return reviewOf(&accepted, c)
}

// Remove forgets a saved program of a session: the one of that audience, or with ""
// the only one of that name, so that a removal that is made again removes no other. The
// error is a *programs.Error, or the store's.
func (p Programs) Remove(ctx context.Context, s Session, name string, of programs.Audience) error {
	if p.store() == nil {
		return errNoPrograms
	}
	saved, err := programs.Only(ctx, p.store(), s, name, of)
	if err != nil {
		return err
	}
	return p.store().Remove(ctx, saved)
}

// Run is Exec of a saved program with an input, an object as JSON.
func (p Programs) Run(ctx context.Context, s Session, name string, input json.RawMessage, in ExecInput) *Result {
	code, err := ProgramCell(name, input)
	if err != nil {
		return codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseInput, "%v", err).Result()
	}
	in.Code, in.Command, in.Language = code, "", run.OwnLanguage(p.host.engine.SettingsOf(s))
	return p.host.Exec(ctx, s, in)
}

// ProgramCell returns the cell that runs a saved program with an input, an object as JSON.
func ProgramCell(name string, input json.RawMessage) (string, error) {
	if err := programs.CheckName(name); err != nil {
		return "", err
	}
	if len(input) == 0 {
		return fmt.Sprintf("return await programs.run(%q)", name), nil
	}
	if !json.Valid(input) {
		return "", fmt.Errorf("the input of %s is not JSON", name)
	}
	text, err := json.Marshal(string(input))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("return await programs.run(%q, JSON.parse(%s))", name, text), nil
}
