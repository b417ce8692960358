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

// maxTaskBytes bounds a task of an MCP client, in bytes: several times what its program may put
// out, and its result.
const maxTaskBytes = 16 << 20

// kind is what the documents of a purpose are like.
type kind struct {
	key    string // seals or encrypts them
	secret bool   // they are encrypted
	o      documents.DirOptions
}

var kinds = map[Purpose]kind{
	Approvals: {key: "approvals"},
	Programs:  {key: "programs"},
	Kept:      {key: "programs", o: documents.DirOptions{Transient: true}},
	Pins:      {key: "mcp pins", o: documents.DirOptions{MaxBytes: mcp.MaxPinBytes}},
	SignIns:   {key: "mcp sign-ins", secret: true},
	Tasks:     {key: "MCP tasks", secret: true, o: documents.DirOptions{MaxBytes: maxTaskBytes}},
}

// Purposes returns all purposes.
func Purposes() []Purpose { return []Purpose{Approvals, Programs, Kept, Pins, SignIns, Tasks} }

// sealer returns what seals the documents of a purpose.
func (of Purpose) sealer(k *runstore.Key) (documents.Sealer, error) {
	kind := kinds[of]
	if !kind.secret {
		return k.Sealer(kind.key), nil
	}
	c, err := k.Cipher(kind.key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	return documents.Encrypted(c), nil
}

// Seal returns a document of a purpose as it is kept under a name.
func Seal(k *runstore.Key, of Purpose, name string, content []byte) ([]byte, error) {
	seal, err := of.sealer(k)
	if err != nil {
		return nil, err
	}
	return seal.Seal(name, content), nil
}

// Driver has the documents of one state.
type Driver struct {
	Open func(Purpose, documents.DirOptions) documents.Store
	Key  *runstore.Key
}

// Documents returns the documents of a purpose, with plain contents.
func (d Driver) Documents(of Purpose) (documents.Store, error) {
	seal, err := of.sealer(d.Key)
	if err != nil {
		return nil, err
	}
	return documents.Sealed(d.Open(of, kinds[of].o), seal), nil
}

// sealed is Documents of a purpose that is not secret.
func (d Driver) sealed(of Purpose) documents.Store {
	return documents.Sealed(d.Open(of, kinds[of].o), d.Key.Sealer(kinds[of].key))
}

// Approvals returns the approvals and grants.
func (d Driver) Approvals() *policy.StoredApprovals {
	return policy.NewStoredApprovals(d.sealed(Approvals))
}

// Programs returns the saved programs and the programs of runs.
func (d Driver) Programs() *programs.Stored {
	return programs.NewStored(d.sealed(Programs), d.sealed(Kept))
}

// Pins returns what the tools of MCP servers have to be.
func (d Driver) Pins() *mcp.Pins { return mcp.NewPins(d.sealed(Pins)) }

// SignIns returns the sign-ins to MCP servers. The cipher of o does not count.
func (d Driver) SignIns(o mcp.SignInOptions) (*mcp.SignIns, error) {
	docs, err := d.Documents(SignIns)
	if err != nil {
		return nil, err
	}
	return mcp.NewSignIns(docs, o), nil
}

// Tasks returns what mcpserver.NewTasks keeps the tasks of MCP clients in.
func (d Driver) Tasks() (documents.Store, error) { return d.Documents(Tasks) }
