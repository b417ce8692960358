package policy

import (
	"maps"
	"slices"
	"strconv"
)

// Scopes are the rules of a host, and those that narrow them for one agent or
// one session. An agent or session without an entry has the host's rules.
type Scopes struct {
	Rules
	// Agents are further rules by agent id.
	Agents map[string]Rules `json:"agents,omitempty"`
	// Sessions are further rules by session key.
	Sessions map[string]Rules `json:"sessions,omitempty"`
}

// Policy is compiled Scopes. It is immutable and safe for concurrent use.
type Policy struct {
	host     Layers
	agents   map[string]*Layer
	sessions map[string]*Layer
}

// Compile checks every pattern; it fails with a *PatternError that names the
// first bad one.
func (s Scopes) Compile() (*Policy, error) {
	l, err := s.Rules.Compile()
	if err != nil {
		return nil, err
	}
	p := &Policy{host: Layers(nil).With(l)}
	if p.agents, err = compileAll("agents", s.Agents); err != nil {
		return nil, err
	}
	if p.sessions, err = compileAll("sessions", s.Sessions); err != nil {
		return nil, err
	}
	return p, nil
}

// compileAll compiles rules in the order of their names, so it always reports the same one of
// several bad patterns.
func compileAll(field string, rules map[string]Rules) (map[string]*Layer, error) {
	layers := make(map[string]*Layer, len(rules))
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		l, err := rules[name].compile(field + "[" + strconv.Quote(name) + "].")
		if err != nil {
			return nil, err
		}
		layers[name] = l
	}
	return layers, nil
}

// For returns the layers that hold for a session of an agent: the host's, the
// agent's and the session's.
//
// An unknown agent or session gets the layers above it. A layer only narrows: no
// agent is allowed what the host denies.
func (p *Policy) For(agentID, sessionKey string) Layers {
	return p.host.With(p.agents[agentID]).With(p.sessions[sessionKey])
}
