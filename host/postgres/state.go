package postgres

import (
	"fmt"

	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/internal/documents"
)

// Approvals returns the approvals and grants that all hosts share. What one host decides
// the others notice within milliseconds, and within a second where hints are lost.
func (d *DB) Approvals() *policy.StoredApprovals {
	docs := d.documents("approvals", documents.DirOptions{})
	docs.told = ".done"
	return policy.NewStoredApprovals(documents.Sealed(docs, d.Sealer("approvals")))
}

// Programs returns the saved programs and the programs of runs, which all hosts share.
func (d *DB) Programs() *programs.Stored {
	seal := d.Sealer("programs")
	return programs.NewStored(documents.Sealed(d.documents("programs", documents.DirOptions{}), seal),
		documents.Sealed(d.documents("programs of runs", documents.DirOptions{Transient: true}), seal))
}

// Pins returns what the tools of MCP servers have to be, for all hosts.
func (d *DB) Pins() *mcp.Pins {
	docs := d.documents("pins of MCP servers", documents.DirOptions{MaxBytes: mcp.MaxPinBytes})
	return mcp.NewPins(documents.Sealed(docs, d.Sealer("mcp pins")))
}

// SignIns returns the sign-ins to MCP servers that all hosts share, encrypted. The cipher
// of o does not count.
func (d *DB) SignIns(o mcp.SignInOptions) (*mcp.SignIns, error) {
	docs, err := d.signIns()
	if err != nil {
		return nil, fmt.Errorf("sign-ins: %w", err)
	}
	return mcp.NewSignIns(docs, o), nil
}

// maxTaskBytes bounds a task of an MCP client, in bytes: several times what its program may
// put out, and its result.
const maxTaskBytes = 16 << 20

// Tasks returns what mcpserver.NewTasks keeps the tasks of MCP clients in, encrypted, for
// all hosts.
func (d *DB) Tasks() (documents.Store, error) {
	c, err := d.Cipher("MCP tasks")
	if err != nil {
		return nil, fmt.Errorf("tasks: %w", err)
	}
	docs := d.documents("tasks of MCP clients", documents.DirOptions{MaxBytes: maxTaskBytes})
	return documents.Sealed(docs, documents.Encrypted(c)), nil
}

func (d *DB) signIns() (documents.Store, error) {
	c, err := d.Cipher("mcp sign-ins")
	if err != nil {
		return nil, err
	}
	return documents.Sealed(d.documents("sign-ins", documents.DirOptions{}), documents.Encrypted(c)), nil
}
