// Package schemalimit bounds what it costs to hold values against JSON Schemas of
// strangers: a plugin or an MCP server writes the schema, a program the value, and
// neither may keep the host busy.
package schemalimit
