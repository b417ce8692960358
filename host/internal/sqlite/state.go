package sqlite

import (
	"fmt"

	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
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

// Approvals returns the approvals and grants.
func (d *DB) Approvals() *policy.StoredApprovals {
	return policy.NewStoredApprovals(documents.Sealed(d.documents(Approvals, documents.DirOptions{}), d.Sealer(approvalsKey)))
}

// Programs returns the saved programs and the programs of runs.
func (d *DB) Programs() *programs.Stored {
	seal := d.Sealer(programsKey)
	return programs.NewStored(documents.Sealed(d.documents(Programs, documents.DirOptions{}), seal),
		documents.Sealed(d.documents(Kept, documents.DirOptions{Transient: true}), seal))
}

// Pins returns what the tools of MCP servers have to be.
func (d *DB) Pins() *mcp.Pins {
	docs := d.documents(Pins, documents.DirOptions{MaxBytes: mcp.MaxPinBytes})
	return mcp.NewPins(documents.Sealed(docs, d.Sealer(pinsKey)))
}

// SignIns returns the sign-ins to MCP servers, encrypted. The cipher of o does not count.
func (d *DB) SignIns(o mcp.SignInOptions) (*mcp.SignIns, error) {
	docs, err := encrypted(d, SignIns, signInsKey, documents.DirOptions{})
	if err != nil {
		return nil, err
	}
	return mcp.NewSignIns(docs, o), nil
}

// maxTaskBytes bounds a task of an MCP client, in bytes: several times what its program may put
// out, and its result.
const maxTaskBytes = 16 << 20

// Tasks returns what mcpserver.NewTasks keeps the tasks of MCP clients in, encrypted.
func (d *DB) Tasks() (documents.Store, error) {
	return encrypted(d, Tasks, tasksKey, documents.DirOptions{MaxBytes: maxTaskBytes})
}

// encrypted returns the documents of a purpose, encrypted with a key.
func encrypted(d *DB, purpose Purpose, key string, o documents.DirOptions) (documents.Store, error) {
	c, err := d.Cipher(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", purpose, err)
	}
	return documents.Sealed(d.documents(purpose, o), documents.Encrypted(c)), nil
}
