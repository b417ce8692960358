package conformance

import (
	"bytes"
	"encoding/json"

	"github.com/quoinhq/quoin/namespaces"
)

// others returns sessions that differ from the session of the calls in a single field, or are
// named by a single one.
func others() map[string]namespaces.RunContext {
	all := map[string]namespaces.RunContext{"without a name": {RunID: run.RunID}}
	for field, set := range map[string]func(*namespaces.RunContext, string){
		"agent":       func(r *namespaces.RunContext, v string) { r.AgentID = v },
		"session key": func(r *namespaces.RunContext, v string) { r.SessionKey = v },
		"session id":  func(r *namespaces.RunContext, v string) { r.SessionID = v },
	} {
		other, alone := run, namespaces.RunContext{RunID: run.RunID}
		set(&other, "other")
		set(&alone, "other")
		all["with another "+field], all["with a "+field+" alone"] = other, alone
	}
	return all
}

// privateCalls makes each declared private call, and looks at what all other sessions see of it.
func privateCalls(e *exam) {
	e.setup()
	if len(e.declared.Private) == 0 {
		e.notExercised("private is not declared: what the plugin keeps for one session")
	}
	for _, p := range e.declared.Private {
		e.privateCall(p)
	}
}

func (e *exam) privateCall(p Private) {
	sees := func(as namespaces.RunContext) json.RawMessage {
		result, err := e.callAs(e.ctx, as, p.Shows.Tool, p.Shows.Input, "", nil)
		if err != nil {
			e.problem("the declared call shows of %s failed: %v", p.Shows.Tool, err)
		}
		return result
	}
	before := map[string]json.RawMessage{}
	for name, other := range others() {
		before[name] = sees(other)
	}
	own := sees(run)
	if _, err := e.call(e.ctx, p.Tool, p.Input); err != nil {
		e.problem("the declared call private of %s failed: %v", p.Tool, err)
		return
	}
	if bytes.Equal(own, sees(run)) {
		e.problem("%s returned %.100s before the declared call private of %s and after it; expected that its session sees it", p.Shows.Tool, own, p.Tool)
	}
	for name, other := range others() {
		if after := sees(other); !bytes.Equal(before[name], after) {
			e.problem("a session %s sees what %s has done for another: %s returned %.100s, and then %.100s; keep it by RunContext.Identity", name, p.Tool, p.Shows.Tool, before[name], after)
		}
	}
}
