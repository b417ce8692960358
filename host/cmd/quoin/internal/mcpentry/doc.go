// Package mcpentry has the MCP servers that a configuration names: as Quoin writes
// them under mcp.servers, and as the configurations of other hosts have them. It is for
// the command that adds servers.
//
// # Nouns
//
// An [Entry] is one server of Quoin's configuration. [Read] finds the servers in a file
// of another host: each becomes a [Found], with notes about what differs, or a
// [Skipped], with the reason.
//
// # Lifecycle, concurrency
//
// Everything is a function of its arguments.
//
// # Failure
//
// A file that cannot be read as a whole is an error. What is wrong with one server
// skips that server.
//
// # Trust
//
// Files may hold anything, and hold secrets. Their size and nesting are bounded. No
// note, reason or error contains a value of env, a header, an argument or a query of an
// address; names are for a caller to print safely.
package mcpentry
