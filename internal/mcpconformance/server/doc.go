// Package server is what the official MCP conformance suite asks: a host behind
// package mcpserver, with the tools, resources, prompts and completions that its
// scenarios name. Whatever the scenarios can reach through Quoin's own tools is a tool
// of the host; the rest is added to the MCP server as an embedder would.
//
// A Server is started, serves until it is closed, and is trusted: it listens on
// loopback alone. Its methods are safe for concurrent use.
//
// server.go starts it. host_tools.go has the tools of the host. contents.go and
// questions.go add those that speak MCP itself, tasks.go those that are tasks,
// documents.go resources, prompts and completions.
package server
