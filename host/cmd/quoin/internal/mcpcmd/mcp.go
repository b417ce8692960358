// Package mcpcmd has the commands about MCP servers with tools that programs call.
package mcpcmd

import (
	"github.com/spf13/cobra"
)

// New returns the commands about the Model Context Protocol, on both sides of Quoin: the
// upstream servers with tools that programs call, and Quoin as a server of others. Without a
// command it is the list, for which it once had no word.
func New(serve *cobra.Command) *cobra.Command {
	cmd := newList()
	cmd.Use = "mcp"
	cmd.Short = "Use MCP servers, and be one"
	cmd.Long = `Add, sign in to, check and remove the MCP servers whose tools cells call.
Without a command, it is quoin mcp list.`
	cmd.Example = `  quoin mcp
  quoin mcp list --json`
	cmd.AddCommand(newList(), newAdd(), newRemove(), newTest(), newAccept(), newLogin(), newLogout(), newSnippet(), serve, newServerJSON())
	return cmd
}
