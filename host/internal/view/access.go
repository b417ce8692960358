package view

import (
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// Access is what one run may reach in addition to what every session has: the rules
// that narrow it and the tools that its caller brought. Both stay the same for the
// whole run. Their result depends on the plugins of the moment, so the view is
// resolved when a run starts and whenever it resumes.
type Access struct {
	rules  policy.Rules // of this run, in addition to its session's
	Layers policy.Layers
	Client *ClientTools // nil without them
	View   atomic.Pointer[View]
}

// NewAccess checks the rules and tools of a run and resolves its first view from base.
func NewAccess(base *View, p *policy.Policy, s codemode.Session, rules policy.Rules, client *ClientTools) (*Access, *codemode.Error) {
	layer, err := rules.Compile()
	if err != nil {
		return nil, codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput, "the rules of this run are not usable: %v", err)
	}
	to := &Access{rules: rules, Layers: p.For(s.AgentID, s.SessionKey).With(layer), Client: client}
	if err := to.Resolve(base); err != nil {
		return nil, codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput, "the caller's tools are not usable: %v", err)
	}
	return to, nil
}

// Resolve resolves the view from base, the tools that exist now.
func (to *Access) Resolve(base *View) error {
	v, err := base.Derive(to.Layers, to.Client)
	if err == nil {
		to.View.Store(v)
	}
	return err
}

// StoredRules is what a record keeps of the rules.
func (to *Access) StoredRules() json.RawMessage {
	if to.rules.Empty() {
		return nil
	}
	b, err := json.Marshal(to.rules)
	if err != nil {
		panic("host: strings cannot be encoded: " + err.Error()) // they always can
	}
	return b
}

// errStoredAccess means that a record names rules or tools that do not exist.
var errStoredAccess = errors.New("its rules or tools are damaged")

// RestoreAccess makes the access of a record's run. A run that started with the tools of a
// model request gets the tools of the request that resumes it.
func RestoreAccess(base *View, p *policy.Policy, s codemode.Session, rec *runstore.Record, turn *ClientTools) (*Access, error) {
	var rules policy.Rules
	if len(rec.Rules) > 0 && json.Unmarshal(rec.Rules, &rules) != nil {
		return nil, errStoredAccess
	}
	client, err := loadClientTools(rec.ClientTools)
	if err != nil {
		return nil, err
	}
	if client == nil {
		client = turn
	}
	to, f := NewAccess(base, p, s, rules, client)
	if f != nil {
		return nil, f
	}
	return to, nil
}
