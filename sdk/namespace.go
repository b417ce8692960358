package sdk

import (
	"context"
	"encoding/json"
)

// Namespace describes a global object for guests. Its verbs lead to tools of
// the same plugin and carry no authority of their own.
type Namespace struct {
	// ID names the namespace to the host.
	ID string
	// Global is the JavaScript identifier guests use.
	Global string
	// Description is one line for the model.
	Description string
	// Prompt teaches the model the verbs. Optional.
	Prompt string
	// Scope is the content, equal for all runs. Give Scope or CreateScope.
	Scope Scope
	// CreateScope makes the content for one run. Its verbs with Map must depend
	// on rc alone: it is asked again to find them.
	CreateScope func(ctx context.Context, rc RunContext) (Scope, error)
	// Tools are the tools that verbs made by CreateScope may lead to. With
	// Scope they are found in the scope and Tools stays empty.
	Tools []*ToolRef
}

// registeredNamespace is a namespace ready to make scopes.
type registeredNamespace struct {
	Namespace
	required []string
	fixed    json.RawMessage // the encoded Scope; nil with CreateScope
}

// maxDescribed is the largest scope, in bytes, that a plugin describes when it
// starts. A host asks for a larger one in the runs that use it.
const maxDescribed = 64 << 10

// described is the scope the host need not ask for; nil if it must.
func (n *registeredNamespace) described() json.RawMessage {
	if len(n.fixed) > maxDescribed {
		return nil
	}
	return n.fixed
}

// Scope is the content of a namespace: names mapped to verbs, to further
// scopes, or to plain data (anything with a JSON form).
type Scope map[string]any
