// Package statedocs says what documents there are in the state of hosts, and which keys seal them:
// the same for every driver, so that documents can be carried from one to another.
package statedocs

import (
	"fmt"

	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
)

// Purpose is what documents are for.
type Purpose string

// The purposes of documents.
const (
	Approvals Purpose = "approvals"
	Programs  Purpose = "programs"
	Kept      Purpose = "programs of runs"
	Pins      Purpose = "pins of MCP servers"
	SignIns   Purpose = "sign-ins"
	Tasks     Purpose = "tasks of MCP clients"
)

// The keys that seal or encrypt documents.
const (
	approvalsKey = "approvals"
	programsKey  = "programs"
	pinsKey      = "mcp pins"
	signInsKey   = "mcp sign-ins"
	tasksKey     = "MCP tasks"
)

// maxTaskBytes bounds a task of an MCP client, in bytes: several times what its program may put
// out, and its result.
const maxTaskBytes = 16 << 20

// Driver has the documents of one state.
type Driver struct {
	Open func(Purpose, documents.DirOptions) documents.Store
	Key  *runstore.Key
}

// sealed returns the documents of a purpose, sealed with a key.
func (d Driver) sealed(of Purpose, key string, o documents.DirOptions) documents.Store {
	return documents.Sealed(d.Open(of, o), d.Key.Sealer(key))
}

// encrypted returns the documents of a purpose, encrypted with a key.
func (d Driver) encrypted(of Purpose, key string, o documents.DirOptions) (documents.Store, error) {
	c, err := d.Key.Cipher(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	return documents.Sealed(d.Open(of, o), documents.Encrypted(c)), nil
}

// Approvals returns the approvals and grants.
func (d Driver) Approvals() *policy.StoredApprovals {
	return policy.NewStoredApprovals(d.sealed(Approvals, approvalsKey, documents.DirOptions{}))
}

// Programs returns the saved programs and the programs of runs.
func (d Driver) Programs() *programs.Stored {
	return programs.NewStored(d.sealed(Programs, programsKey, documents.DirOptions{}),
		d.sealed(Kept, programsKey, documents.DirOptions{Transient: true}))
}

// Pins returns what the tools of MCP servers have to be.
func (d Driver) Pins() *mcp.Pins {
	return mcp.NewPins(d.sealed(Pins, pinsKey, documents.DirOptions{MaxBytes: mcp.MaxPinBytes}))
}

// SealPins returns pins as they are kept under a name.
func SealPins(k *runstore.Key, name string, content []byte) []byte {
	return k.Sealer(pinsKey).Seal(name, content)
}

// SignInDocuments are the sign-ins to MCP servers as documents.
func (d Driver) SignInDocuments() (documents.Store, error) {
	return d.encrypted(SignIns, signInsKey, documents.DirOptions{})
}

// SignIns returns the sign-ins to MCP servers. The cipher of o does not count.
func (d Driver) SignIns(o mcp.SignInOptions) (*mcp.SignIns, error) {
	docs, err := d.SignInDocuments()
	if err != nil {
		return nil, err
	}
	return mcp.NewSignIns(docs, o), nil
}

// Tasks returns what mcpserver.NewTasks keeps the tasks of MCP clients in.
func (d Driver) Tasks() (documents.Store, error) {
	return d.encrypted(Tasks, tasksKey, documents.DirOptions{MaxBytes: maxTaskBytes})
}
