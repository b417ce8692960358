package postgres

import (
	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/internal/documents"
)

// state are the documents that all hosts share.
func (d *DB) state() statedocs.Driver {
	return statedocs.Driver{Key: d.options.Key, Open: func(of statedocs.Purpose, o documents.DirOptions) documents.Store {
		docs := d.documents(string(of), o)
		if of == statedocs.Approvals {
			docs.told = ".done"
		}
		return docs
	}}
}

// Approvals returns the approvals and grants that all hosts share. What one host decides
// the others notice within milliseconds, and within a second where hints are lost.
func (d *DB) Approvals() *policy.StoredApprovals { return d.state().Approvals() }

// Programs returns the saved programs and the programs of runs, which all hosts share.
func (d *DB) Programs() *programs.Stored { return d.state().Programs() }

// Pins returns what the tools of MCP servers have to be, for all hosts.
func (d *DB) Pins() *mcp.Pins { return d.state().Pins() }

// SignIns returns the sign-ins to MCP servers that all hosts share, encrypted. The cipher
// of o does not count.
func (d *DB) SignIns(o mcp.SignInOptions) (*mcp.SignIns, error) { return d.state().SignIns(o) }

// Tasks returns what mcpserver.NewTasks keeps the tasks of MCP clients in, encrypted, for
// all hosts.
func (d *DB) Tasks() (documents.Store, error) { return d.state().Tasks() }
